# SPDX-License-Identifier: MIT
# fish completion of memattach; made by generate.py from memattach.fish.in: `make completions`.

# Is this the command? Without one it is attach.
function __memattach_is
    set -l words (commandline -opc)
    if set -q words[2]; and not string match -q -- '-*' $words[2]
        test $words[2] = $argv[1]
    else
        set -q words[2]; and test $argv[1] = attach; and not contains -- -- $words
    end
end

# No command yet.
function __memattach_begins
    test (count (commandline -opc)) -eq 1
end

# How many words stand behind the command that are no options.
function __memattach_operands
    set -l words (commandline -opc)[3..-1]
    set -l count 0
    for word in $words
        string match -q -- '-*' $word; or set count (math $count + 1)
    end
    test $count -eq $argv[1]
end

# Behind "--".
function __memattach_runs
    contains -- -- (commandline -opc)
end

# Files that are SQLite databases, and folders.
function __memattach_recordings
    for file in (__fish_complete_path (commandline -ct))
        set -l path (string split -f 1 \t -- $file)
        if string match -q -- '*/' $path
            echo $path
        else if test -r "$path"; and head -c 15 -- $path 2>/dev/null | string match -q 'SQLite format 3'
            echo $path\trecording
        end
    end
end

complete -c memattach -f
complete -c memattach -n __memattach_begins -a attach -d 'watch a running process, report, and leave it as it was'
complete -c memattach -n __memattach_begins -a run -d 'start a program and watch it from its first allocation'
complete -c memattach -n __memattach_begins -a trace -d 'one line for each call of an allocator'
complete -c memattach -n __memattach_begins -a leaks -d 'what is lost, from one look at a process\'s memory; who holds a block'
complete -c memattach -n __memattach_begins -a check -d 'what an attach would do, or why it is refused; touches nothing'
complete -c memattach -n __memattach_begins -a cleanup -d 'finish a detach that a killed memattach left'
complete -c memattach -n __memattach_begins -a report -d 'print a recording again, or one view of it; several put together'
complete -c memattach -n __memattach_begins -a diff -d 'what is new, grew, shrank or is gone'
complete -c memattach -n __memattach_begins -a export -d 'a recording for pprof, heaptrack, ms_print, browsers and others'
complete -c memattach -n __memattach_begins -a symbolize -d 'find names that a recording lacks'
complete -c memattach -n __memattach_begins -a help -d 'the options of a command'
complete -c memattach -n __memattach_begins -s p -l pid -x -a '(__fish_complete_pids)' -d 'the process'
complete -c memattach -n '__memattach_is help' -a 'attach run trace leaks check cleanup report diff export symbolize'
complete -c memattach -n '__memattach_runs' -a '(__fish_complete_subcommand --fcs-skip=(contains -i -- -- (commandline -opc)))'
complete -c memattach -n '__memattach_is report; and __memattach_operands 0' -a '(__memattach_recordings)'
complete -c memattach -n '__memattach_is report; and __memattach_operands 1' -a 'overview hotspots tree flame histogram timeline temporary peak lifetimes blocks filter source realloc threads regions arenas fragmentation leaks'
complete -c memattach -n '__memattach_is diff; and __memattach_operands 0' -F
complete -c memattach -n '__memattach_is diff; and __memattach_operands 1' -F
complete -c memattach -n '__memattach_is export; and __memattach_operands 0' -a '(__memattach_recordings)'
complete -c memattach -n '__memattach_is symbolize; and __memattach_operands 0' -a '(__memattach_recordings)'
complete -c memattach -n '__memattach_is attach' -s p -l pid -x -a '(__fish_complete_pids)' -d 'the process'
complete -c memattach -n '__memattach_is attach' -s d -l duration -x -d 'detach after so long'
complete -c memattach -n '__memattach_is attach' -s o -l output -r -F -d 'the file to write'
complete -c memattach -n '__memattach_is attach' -l leaks -d 'search for lost memory'
complete -c memattach -n '__memattach_is attach' -l json -d 'print JSON'
complete -c memattach -n '__memattach_is attach' -l top -x -d 'print so many'
complete -c memattach -n '__memattach_is attach' -l exact -d 'record every event'
complete -c memattach -n '__memattach_is attach' -l sample -x -d 'record one allocation in so many bytes'
complete -c memattach -n '__memattach_is attach' -l interval -x -d 'from snapshot to snapshot'
complete -c memattach -n '__memattach_is attach' -l loader -x -a 'auto dlopen map' -d 'how hooks get into the process'
complete -c memattach -n '__memattach_is attach' -l track -x -a 'malloc mmap all' -d 'blocks, mappings or both'
complete -c memattach -n '__memattach_is attach' -l plain -d 'no live screen: plain lines'
complete -c memattach -n '__memattach_is attach' -l on-overflow -x -a 'drop block' -d 'when the ring is full'
complete -c memattach -n '__memattach_is attach' -l frees -x -a 'callers stacks' -d 'what is kept of frees'
complete -c memattach -n '__memattach_is attach' -l seed -x -d 'of the sampler, for tests'
complete -c memattach -n '__memattach_is attach' -l ring-size -x -d 'shared memory in the process'
complete -c memattach -n '__memattach_is attach' -l snapshot -x -a 'copy stop' -d 'how memory is read at one moment'
complete -c memattach -n '__memattach_is attach' -l roots -x -a '(__fish_append , globals stacks registers tls)' -d 'where the search for leaks begins'
complete -c memattach -n '__memattach_is attach' -l trace-to -x -d 'who holds the block there'
complete -c memattach -n '__memattach_is attach' -l suppressions -r -F -d 'lost blocks to leave out'
complete -c memattach -n '__memattach_is attach' -l show-bytes -x -d 'show what lost blocks hold'
complete -c memattach -n '__memattach_is attach' -l access -x -d 'are suspects still used, and by whom'
complete -c memattach -n '__memattach_is attach' -l history -x -a '(__memattach_recordings)' -d 'a recording from before that lengthens the watch'
complete -c memattach -n '__memattach_is attach' -l heaps -d 'walk the heaps for the recording'
complete -c memattach -n '__memattach_is attach' -l snapshot-on -x -a '(__fish_append , 64M +10M peak SIGUSR1)' -d 'snapshots in between'
complete -c memattach -n '__memattach_is attach' -l max-recording -x -d 'the recording\'s largest size'
complete -c memattach -n '__memattach_is attach' -l name -x -d 'all processes that are called so'
complete -c memattach -n '__memattach_is attach' -l unit -x -d 'all processes of a unit of systemd'
complete -c memattach -n '__memattach_is attach' -l follow -d 'what they fork, or become by exec, too'
complete -c memattach -n '__memattach_is attach' -l max-processes -x -d 'so many at the most (64)'
complete -c memattach -n '__memattach_is attach' -l view -x -a 'overview hotspots tree flame histogram timeline temporary peak lifetimes blocks filter source realloc threads regions arenas fragmentation leaks' -d 'print one view'
complete -c memattach -n '__memattach_is attach' -l by -x -a 'live live-count bytes calls frees peak temporary' -d 'what is sorted by and added up'
complete -c memattach -n '__memattach_is attach' -l reverse -d 'from the innermost function'
complete -c memattach -n '__memattach_is attach' -l depth -x -d 'so many levels or frames'
complete -c memattach -n '__memattach_is attach' -l threshold -x -d 'leave out what has less'
complete -c memattach -n '__memattach_is attach' -l flame-use-size -d 'flame: bytes, not calls'
complete -c memattach -n '__memattach_is attach' -l time-unit -x -a 's B' -d 'timeline: seconds, or bytes'
complete -c memattach -n '__memattach_is attach' -l sizes -x -a 'powers exact' -d 'histogram: of which sizes'
complete -c memattach -n '__memattach_is attach' -l site -x -d 'this site only'
complete -c memattach -n '__memattach_is attach' -l size -x -d 'these sizes only'
complete -c memattach -n '__memattach_is attach' -l thread -x -d 'what this thread did: number, id or name'
complete -c memattach -n '__memattach_is attach' -l module -x -d 'what this program or library takes part in'
complete -c memattach -n '__memattach_is attach' -l inline -x -a 'no yes' -d 'frames of inlined functions'
complete -c memattach -n '__memattach_is attach' -l just-function-name -d 'names without types and parameters'
complete -c memattach -n '__memattach_is attach' -l shorten-templates -d 'names with <> for template arguments'
complete -c memattach -n '__memattach_is run' -s d -l duration -x -d 'detach after so long'
complete -c memattach -n '__memattach_is run' -s o -l output -r -F -d 'the file to write'
complete -c memattach -n '__memattach_is run' -l leaks -d 'search for lost memory'
complete -c memattach -n '__memattach_is run' -l json -d 'print JSON'
complete -c memattach -n '__memattach_is run' -l top -x -d 'print so many'
complete -c memattach -n '__memattach_is run' -l exact -d 'record every event'
complete -c memattach -n '__memattach_is run' -l sample -x -d 'record one allocation in so many bytes'
complete -c memattach -n '__memattach_is run' -l interval -x -d 'from snapshot to snapshot'
complete -c memattach -n '__memattach_is run' -l track -x -a 'malloc mmap all' -d 'blocks, mappings or both'
complete -c memattach -n '__memattach_is run' -l plain -d 'no live screen: plain lines'
complete -c memattach -n '__memattach_is run' -l on-overflow -x -a 'drop block' -d 'when the ring is full'
complete -c memattach -n '__memattach_is run' -l frees -x -a 'callers stacks' -d 'what is kept of frees'
complete -c memattach -n '__memattach_is run' -l seed -x -d 'of the sampler, for tests'
complete -c memattach -n '__memattach_is run' -l ring-size -x -d 'shared memory in the process'
complete -c memattach -n '__memattach_is run' -l roots -x -a '(__fish_append , globals stacks registers tls)' -d 'where the search for leaks begins'
complete -c memattach -n '__memattach_is run' -l suppressions -r -F -d 'lost blocks to leave out'
complete -c memattach -n '__memattach_is run' -l show-bytes -x -d 'show what lost blocks hold'
complete -c memattach -n '__memattach_is run' -l access -x -d 'are suspects still used, and by whom'
complete -c memattach -n '__memattach_is run' -l history -x -a '(__memattach_recordings)' -d 'a recording from before that lengthens the watch'
complete -c memattach -n '__memattach_is run' -l heaps -d 'walk the heaps for the recording'
complete -c memattach -n '__memattach_is run' -l snapshot-on -x -a '(__fish_append , 64M +10M peak SIGUSR1)' -d 'snapshots in between'
complete -c memattach -n '__memattach_is run' -l max-recording -x -d 'the recording\'s largest size'
complete -c memattach -n '__memattach_is run' -l view -x -a 'overview hotspots tree flame histogram timeline temporary peak lifetimes blocks filter source realloc threads regions arenas fragmentation leaks' -d 'print one view'
complete -c memattach -n '__memattach_is run' -l by -x -a 'live live-count bytes calls frees peak temporary' -d 'what is sorted by and added up'
complete -c memattach -n '__memattach_is run' -l reverse -d 'from the innermost function'
complete -c memattach -n '__memattach_is run' -l depth -x -d 'so many levels or frames'
complete -c memattach -n '__memattach_is run' -l threshold -x -d 'leave out what has less'
complete -c memattach -n '__memattach_is run' -l flame-use-size -d 'flame: bytes, not calls'
complete -c memattach -n '__memattach_is run' -l time-unit -x -a 's B' -d 'timeline: seconds, or bytes'
complete -c memattach -n '__memattach_is run' -l sizes -x -a 'powers exact' -d 'histogram: of which sizes'
complete -c memattach -n '__memattach_is run' -l site -x -d 'this site only'
complete -c memattach -n '__memattach_is run' -l size -x -d 'these sizes only'
complete -c memattach -n '__memattach_is run' -l thread -x -d 'what this thread did: number, id or name'
complete -c memattach -n '__memattach_is run' -l module -x -d 'what this program or library takes part in'
complete -c memattach -n '__memattach_is run' -l inline -x -a 'no yes' -d 'frames of inlined functions'
complete -c memattach -n '__memattach_is run' -l just-function-name -d 'names without types and parameters'
complete -c memattach -n '__memattach_is run' -l shorten-templates -d 'names with <> for template arguments'
complete -c memattach -n '__memattach_is trace' -s p -l pid -x -a '(__fish_complete_pids)' -d 'the process'
complete -c memattach -n '__memattach_is trace' -s d -l duration -x -d 'detach after so long'
complete -c memattach -n '__memattach_is trace' -s o -l output -r -F -d 'the file to write'
complete -c memattach -n '__memattach_is trace' -l json -d 'print JSON'
complete -c memattach -n '__memattach_is trace' -l top -x -d 'print so many'
complete -c memattach -n '__memattach_is trace' -l exact -d 'record every event'
complete -c memattach -n '__memattach_is trace' -l loader -x -a 'auto dlopen map' -d 'how hooks get into the process'
complete -c memattach -n '__memattach_is trace' -l track -x -a 'malloc mmap all' -d 'blocks, mappings or both'
complete -c memattach -n '__memattach_is trace' -l on-overflow -x -a 'drop block' -d 'when the ring is full'
complete -c memattach -n '__memattach_is trace' -l ring-size -x -d 'shared memory in the process'
complete -c memattach -n '__memattach_is trace' -l function -x -d 'calls by, or of, this function'
complete -c memattach -n '__memattach_is trace' -l site -x -d 'this site only'
complete -c memattach -n '__memattach_is trace' -l size -x -d 'these sizes only'
complete -c memattach -n '__memattach_is trace' -l thread -x -d 'what this thread did: number, id or name'
complete -c memattach -n '__memattach_is trace' -l module -x -d 'what this program or library takes part in'
complete -c memattach -n '__memattach_is leaks' -s p -l pid -x -a '(__fish_complete_pids)' -d 'the process'
complete -c memattach -n '__memattach_is leaks' -s d -l duration -x -d 'detach after so long'
complete -c memattach -n '__memattach_is leaks' -s o -l output -r -F -d 'the file to write'
complete -c memattach -n '__memattach_is leaks' -l json -d 'print JSON'
complete -c memattach -n '__memattach_is leaks' -l top -x -d 'print so many'
complete -c memattach -n '__memattach_is leaks' -l exact -d 'record every event'
complete -c memattach -n '__memattach_is leaks' -l sample -x -d 'record one allocation in so many bytes'
complete -c memattach -n '__memattach_is leaks' -l interval -x -d 'from snapshot to snapshot'
complete -c memattach -n '__memattach_is leaks' -l loader -x -a 'auto dlopen map' -d 'how hooks get into the process'
complete -c memattach -n '__memattach_is leaks' -l track -x -a 'malloc mmap all' -d 'blocks, mappings or both'
complete -c memattach -n '__memattach_is leaks' -l on-overflow -x -a 'drop block' -d 'when the ring is full'
complete -c memattach -n '__memattach_is leaks' -l frees -x -a 'callers stacks' -d 'what is kept of frees'
complete -c memattach -n '__memattach_is leaks' -l seed -x -d 'of the sampler, for tests'
complete -c memattach -n '__memattach_is leaks' -l ring-size -x -d 'shared memory in the process'
complete -c memattach -n '__memattach_is leaks' -l snapshot -x -a 'copy stop' -d 'how memory is read at one moment'
complete -c memattach -n '__memattach_is leaks' -l roots -x -a '(__fish_append , globals stacks registers tls)' -d 'where the search for leaks begins'
complete -c memattach -n '__memattach_is leaks' -l trace-to -x -d 'who holds the block there'
complete -c memattach -n '__memattach_is leaks' -l suppressions -r -F -d 'lost blocks to leave out'
complete -c memattach -n '__memattach_is leaks' -l show-bytes -x -d 'show what lost blocks hold'
complete -c memattach -n '__memattach_is leaks' -l access -x -d 'are suspects still used, and by whom'
complete -c memattach -n '__memattach_is leaks' -l history -x -a '(__memattach_recordings)' -d 'a recording from before that lengthens the watch'
complete -c memattach -n '__memattach_is leaks' -l heaps -d 'walk the heaps for the recording'
complete -c memattach -n '__memattach_is leaks' -l snapshot-on -x -a '(__fish_append , 64M +10M peak SIGUSR1)' -d 'snapshots in between'
complete -c memattach -n '__memattach_is leaks' -l max-recording -x -d 'the recording\'s largest size'
complete -c memattach -n '__memattach_is leaks' -l name -x -d 'all processes that are called so'
complete -c memattach -n '__memattach_is leaks' -l unit -x -d 'all processes of a unit of systemd'
complete -c memattach -n '__memattach_is leaks' -l follow -d 'what they fork, or become by exec, too'
complete -c memattach -n '__memattach_is leaks' -l max-processes -x -d 'so many at the most (64)'
complete -c memattach -n '__memattach_is check' -s p -l pid -x -a '(__fish_complete_pids)' -d 'the process'
complete -c memattach -n '__memattach_is check' -l loader -x -a 'auto dlopen map' -d 'how hooks get into the process'
complete -c memattach -n '__memattach_is check' -l track -x -a 'malloc mmap all' -d 'blocks, mappings or both'
complete -c memattach -n '__memattach_is cleanup' -s p -l pid -x -a '(__fish_complete_pids)' -d 'the process'
complete -c memattach -n '__memattach_is report' -l leaks -d 'search for lost memory'
complete -c memattach -n '__memattach_is report' -l json -d 'print JSON'
complete -c memattach -n '__memattach_is report' -l top -x -d 'print so many'
complete -c memattach -n '__memattach_is report' -l track -x -a 'malloc mmap all' -d 'blocks, mappings or both'
complete -c memattach -n '__memattach_is report' -l view -x -a 'overview hotspots tree flame histogram timeline temporary peak lifetimes blocks filter source realloc threads regions arenas fragmentation leaks' -d 'print one view'
complete -c memattach -n '__memattach_is report' -l by -x -a 'live live-count bytes calls frees peak temporary' -d 'what is sorted by and added up'
complete -c memattach -n '__memattach_is report' -l reverse -d 'from the innermost function'
complete -c memattach -n '__memattach_is report' -l depth -x -d 'so many levels or frames'
complete -c memattach -n '__memattach_is report' -l threshold -x -d 'leave out what has less'
complete -c memattach -n '__memattach_is report' -l flame-use-size -d 'flame: bytes, not calls'
complete -c memattach -n '__memattach_is report' -l time-unit -x -a 's B' -d 'timeline: seconds, or bytes'
complete -c memattach -n '__memattach_is report' -l sizes -x -a 'powers exact' -d 'histogram: of which sizes'
complete -c memattach -n '__memattach_is report' -l site -x -d 'this site only'
complete -c memattach -n '__memattach_is report' -l size -x -d 'these sizes only'
complete -c memattach -n '__memattach_is report' -l thread -x -d 'what this thread did: number, id or name'
complete -c memattach -n '__memattach_is report' -l module -x -d 'what this program or library takes part in'
complete -c memattach -n '__memattach_is report' -l inline -x -a 'no yes' -d 'frames of inlined functions'
complete -c memattach -n '__memattach_is report' -l just-function-name -d 'names without types and parameters'
complete -c memattach -n '__memattach_is report' -l shorten-templates -d 'names with <> for template arguments'
complete -c memattach -n '__memattach_is diff' -l json -d 'print JSON'
complete -c memattach -n '__memattach_is diff' -l top -x -d 'print so many'
complete -c memattach -n '__memattach_is export' -s o -l output -r -F -d 'the file to write'
complete -c memattach -n '__memattach_is export' -l track -x -a 'malloc mmap all' -d 'blocks, mappings or both'
complete -c memattach -n '__memattach_is export' -l to -x -a 'folded pprof speedscope gperftools massif callgrind heaptrack json csv html svg svg-timeline help' -d 'which format; help lists them'
complete -c memattach -n '__memattach_is export' -l by -x -a 'live live-count bytes calls frees peak temporary' -d 'what is sorted by and added up'
complete -c memattach -n '__memattach_is export' -l depth -x -d 'so many levels or frames'
complete -c memattach -n '__memattach_is export' -l site -x -d 'this site only'
complete -c memattach -n '__memattach_is export' -l size -x -d 'these sizes only'
complete -c memattach -n '__memattach_is export' -l module -x -d 'what this program or library takes part in'
complete -c memattach -n '__memattach_is export' -l inline -x -a 'no yes' -d 'frames of inlined functions'
complete -c memattach -n '__memattach_is export' -l just-function-name -d 'names without types and parameters'
complete -c memattach -n '__memattach_is export' -l shorten-templates -d 'names with <> for template arguments'
complete -c memattach -n '__memattach_is symbolize' -l search -x -a '(__fish_complete_directories)' -d 'where files may be'
