package resource

import (
	"regexp"
	"strings"
)

// SplitKernelArgs splits a kernel command line, or the arguments in a document, as the kernel does (next_arg in
// lib/cmdline.c): at spaces outside double quotes. Nothing escapes a quote, and quotes stay in the arguments.
func SplitKernelArgs(line string) []string {
	var args []string
	begin, quoted := -1, false
	for i := range len(line) {
		switch isSplit := !quoted && isKernelSpace(line[i]); {
		case isSplit && begin >= 0:
			args = append(args, line[begin:i])
			begin = -1
		case !isSplit && begin < 0:
			begin = i
		}
		if line[i] == '"' {
			quoted = !quoted
		}
	}
	if begin >= 0 {
		args = append(args, line[begin:])
	}
	return args
}

// isKernelSpace reports whether the kernel's isspace accepts a byte (lib/ctype.c). 0xA0 is the no-break space of
// ISO 8859-1. In UTF-8 it is the last byte of the no-break space, and of letters such as à.
func isKernelSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' || b == 0xA0 }

// NormalizeKernelArgs returns the arguments of a line, each in the one spelling of NormalizeKernelArg.
func NormalizeKernelArgs(line string) []string {
	args := SplitKernelArgs(line)
	for i, a := range args {
		args[i] = NormalizeKernelArg(a)
	}
	return args
}

// NormalizeKernelArg returns the one spelling of all spellings of an argument that the kernel reads alike. A boot loader may
// pass on another spelling than it was given: GRUB makes "a=b c" of a="b c". An argument with a quote that the kernel keeps
// stays as it is.
func NormalizeKernelArg(arg string) string {
	param, value, hasValue := readKernelArg(arg)
	whole := param
	if hasValue {
		whole += "=" + value
	}
	switch {
	case whole == "" || strings.Contains(whole, `"`):
		return arg
	case !needsQuotes(whole):
		return whole
	case hasValue && !needsQuotes(param):
		return param + `="` + value + `"`
	}
	return `"` + whole + `"`
}

// grubQuoted matches the characters that GRUB passes on only if they are in double quotes (grub-core/script/yylex.l): an entry
// with one of the first seven outside of quotes does not boot.
var grubQuoted = regexp.MustCompile(`[;&|<>{}]|` + hexEscape)

// hexEscape matches the backslash in the name of a unit, which is the only one that GRUB passes on (grub-core/lib/cmdline.c).
const hexEscape = `\\x[[:xdigit:]]{2}`

var hexEscapes = regexp.MustCompile(hexEscape)

func needsQuotes(s string) bool {
	return len(SplitKernelArgs("x"+s+"x")) > 1 || grubQuoted.MatchString(s)
}

// FindGRUBChange returns the first character of an argument that GRUB changes also in double quotes, or "".
func FindGRUBChange(arg string) string {
	rest := hexEscapes.ReplaceAllString(arg, "")
	if i := strings.IndexAny(rest, `$'\`); i >= 0 {
		return rest[i : i+1]
	}
	return ""
}

// KeepsQuote reports whether the kernel reads an argument with a quote in it: one that is neither around the argument nor
// around its value.
func KeepsQuote(arg string) bool {
	param, value, _ := readKernelArg(arg)
	return strings.Contains(param+value, `"`)
}

// readKernelArg returns the parameter of an argument, and its value if it has one, as the kernel reads them (next_arg):
// without quotes around the argument or the value. A = at the beginning separates nothing.
func readKernelArg(arg string) (param, value string, hasValue bool) {
	text, quoted := strings.CutPrefix(arg, `"`)
	equals := strings.IndexByte(text[min(1, len(text)):], '=') + 1
	if equals > 0 {
		param, value, hasValue = text[:equals], text[equals+1:], true
	} else {
		param = text
	}
	value, quotedValue := strings.CutPrefix(value, `"`)
	if quoted || quotedValue {
		value = strings.TrimSuffix(value, `"`)
	}
	if quoted && !hasValue {
		param = strings.TrimSuffix(param, `"`)
	}
	return param, value, hasValue
}
