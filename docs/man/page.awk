# SPDX-License-Identifier: MIT
# awk -f page.awk options.mdoc PAGE.1.in: a manual page. "@options NAME ..." in it becomes a list of
# those paragraphs of options.mdoc, "@version@" what -v says.
FILENAME ~ /options[.]mdoc$/ {
	if ($1 == "@")
		name = $2
	else if (name)
		text[name] = text[name] $0 "\n"
	next
}
$1 == "@options" {
	print ".Bl -tag -width Ds"
	for (i = 2; i <= NF; i++) {
		if (!($i in text)) {
			print FILENAME ": no option " $i >"/dev/stderr"
			exit 1
		}
		printf "%s", text[$i]
	}
	print ".El"
	next
}
{
	gsub(/@version@/, version)
	print
}
