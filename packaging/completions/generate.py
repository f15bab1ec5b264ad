# SPDX-License-Identifier: MIT
"""Completions for bash, zsh and fish, from `memattach help --table` and the *.in files here.

generate.py MEMATTACH FOLDER writes them to FOLDER: `make completions`.
"""
import collections
import os
import subprocess
import sys

Option = collections.namedtuple("Option", "command name letter kind argument choices text")
HERE = os.path.dirname(os.path.abspath(__file__))


class Table:
    def __init__(self, program):
        text = subprocess.run([program, "help", "--table"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        rows = [line.split("\t") for line in text.splitlines()]
        self.commands = {row[1]: (row[2].replace("-", "").split(), row[3])
                         for row in rows if row[0] == "command"}
        self.options = [Option(*row[1:]) for row in rows if row[0] == "option"]
        self.views = next(row[1] for row in rows if row[0] == "views")
        self.runners = [name for name, (operands, _) in self.commands.items()
                        if "command" in operands]

    def of(self, command):
        return [option for option in self.options if option.command == command]

    def distinct(self):
        """Each option once: its values are the same for all commands."""
        return list({option.name: option for option in self.options}.values())


def kind_of(option):
    kinds = {"optional": "choice"}
    return "recording" if option.name == "history" else kinds.get(option.kind, option.kind)


# --- bash --------------------------------------------------------------------

def bash_values(table):
    lines = []
    for option in table.distinct():
        if option.kind == "none":
            continue
        names = f"--{option.name}" + (f" | -{option.letter}" if option.letter != "-" else "")
        words = "" if option.choices == "-" else " " + option.choices
        lines.append(f"\t{names}) echo '{kind_of(option)}{words}' ;;")
    return "\n".join(lines)


def bash_options(table):
    lines = []
    for command in table.commands:
        words = []
        for option in table.of(command):
            words += [f"-{option.letter}"] if option.letter != "-" else []
            words.append(f"--{option.name}{'' if option.kind in ('none', 'optional') else '='}")
        rows, row = [], ""
        for word in words:
            if len(row) + len(word) > 70:
                rows.append(row)
                row = ""
            row += (" " if row else "") + word
        lines.append(f"\t{command}) echo '" + "\n\t\t".join(rows + [row]) + "' ;;")
    return "\n".join(lines)


def bash_operands(table):
    lines = []
    for command, (operands, _) in table.commands.items():
        if operands[:1] == ["recording"]:
            lines.append(f"\t{command}:0) _memattach_recordings ;;")
        if operands == ["recordings"]:
            lines.append(f"\t{command}:[01]) _memattach_recordings all ;;")
        if "view" in operands:
            lines.append(f"\t{command}:1) COMPREPLY=($(compgen -W '{table.views}' -- \"$cur\")) ;;")
        if operands == ["command"]:
            lines.append(f"\t{command}:*) _command_offset $((COMP_CWORD)) ;;")
    return "\n".join(lines)


def bash(table):
    return {"OPTIONS": bash_options(table), "VALUES": bash_values(table),
            "OPERANDS": bash_operands(table), "COMMANDS": " ".join(table.commands),
            "RUNNERS": f"@({'|'.join(table.runners)})"}


# --- zsh ---------------------------------------------------------------------

def zsh_action(option):
    return {"pid": "_memattach_pids", "file": "_files", "recording": "_memattach_recordings",
            "folder": "_files -/", "text": " ", "choice": f"({option.choices})",
            "list": f"_sequence compadd - {option.choices}"}[kind_of(option)]


def zsh_text(text):
    return text.replace("'", "'\\''").replace(":", "\\:")


def zsh_option(option):
    text = zsh_text(option.text)
    repeated = "*" if option.kind == "folder" else ""
    if option.kind == "none":
        return f"'--{option.name}[{text}]'"
    value = f"[{text}]:{option.argument.replace(':', '')}:{zsh_action(option)}'"
    if option.kind == "optional":
        return f"'--{option.name}=-[{text}]::{option.argument}:{zsh_action(option)}'"
    if option.letter == "-":
        return f"'{repeated}--{option.name}={value}"
    return (f"'(-{option.letter} --{option.name})'"
            f"{{-{option.letter}+,--{option.name}=}}'{value}")


def zsh_operands(operands):
    return {"recording": ["'1:recording:_memattach_recordings'"],
            "view": ["'2:view:($views)'"],
            "recordings": ["'1:old:_memattach_recordings'", "'2:new:_memattach_recordings'"],
            "command": ["'(-)1:command: _command_names -e'", "'*::arguments: _normal'"]}[operands]


def zsh_command(table, command):
    words = [zsh_option(option) for option in table.of(command)] + ["'--help[its options]'"]
    for operands in table.commands[command][0]:
        words += [word.replace("$views", table.views) for word in zsh_operands(operands)]
    return (f"\t{command})\n\t\t_arguments -s -S \\\n\t\t\t" + " \\\n\t\t\t".join(words) +
            "\n\t\t;;")


def zsh(table):
    return {"VIEWS": table.views,
            "COMMANDS": "\n".join(zsh_command(table, command) for command in table.commands),
            "DESCRIPTIONS": "\n".join(f"\t\t'{name}:{zsh_text(text)}'"
                                      for name, (_, text) in table.commands.items())}


# --- fish --------------------------------------------------------------------

def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_value(option):
    if option.kind == "none":
        return ""
    if option.kind == "optional":
        return f" -f -a '{option.choices}'"
    return {"pid": " -x -a '(__fish_complete_pids)'", "file": " -r -F", "text": " -x",
            "recording": " -x -a '(__memattach_recordings)'",
            "folder": " -x -a '(__fish_complete_directories)'",
            "choice": f" -x -a '{option.choices}'",
            "list": f" -x -a '(__fish_append , {option.choices})'"}[kind_of(option)]


def fish_option(option):
    letter = f" -s {option.letter}" if option.letter != "-" else ""
    return (f"complete -c memattach -n '__memattach_is {option.command}'{letter} -l {option.name}"
            f"{fish_value(option)} -d {quoted(option.text)}")


def fish_operands(table):
    lines = []
    for command, (operands, _) in table.commands.items():
        at = f"complete -c memattach -n '__memattach_is {command}; and __memattach_operands "
        if operands[:1] == ["recording"]:
            lines.append(f"{at}0' -a '(__memattach_recordings)'")
        if operands == ["recordings"]:
            lines.append(f"{at}0' -F\n{at}1' -F")
        if "view" in operands:
            lines.append(f"{at}1' -a '{table.views}'")
    return lines


def fish(table):
    commands = [f"complete -c memattach -n __memattach_begins -a {name} -d {quoted(text)}"
                for name, (_, text) in table.commands.items()]
    commands.append("complete -c memattach -n __memattach_begins -a help "
                    "-d 'the options of a command'")
    commands.append("complete -c memattach -n __memattach_begins -s p -l pid "
                    "-x -a '(__fish_complete_pids)' -d 'the process'")
    return {"COMMANDS": "\n".join(commands), "NAMES": " ".join(table.commands),
            "OPTIONS": "\n".join(fish_operands(table) +
                                 [fish_option(option) for option in table.options])}


# --- all ---------------------------------------------------------------------

def write(template, output, parts):
    with open(os.path.join(HERE, template), encoding="utf-8") as file:
        text = file.read()
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    with open(output, "w", encoding="utf-8") as file:
        file.write(text.replace(f"made by generate.py: change {template}",
                                f"made by generate.py from {template}: `make completions`"))


def main():
    program, folder = sys.argv[1:]
    table = Table(program)
    for template, name, shell in (("memattach.bash.in", "memattach", bash),
                                  ("_memattach.in", "_memattach", zsh),
                                  ("memattach.fish.in", "memattach.fish", fish)):
        write(template, os.path.join(folder, name), shell(table))


main()
