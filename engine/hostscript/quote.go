package hostscript

import "strings"

// Quote returns s as one word of a POSIX shell command: sh expands it to exactly the bytes of s in any locale. Every
// value that reaches a shell goes through Quote. To keep printed commands readable, Quote does not quote a word that
// has only harmless characters. Such a word must be an argument, not the name of the command.
//
// POSIX has no arguments with a NUL byte, and Quote does not handle one: senders refuse a script with a NUL byte.
func Quote(s string) string {
	if s != "" && strings.Trim(s, harmless) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Assign returns the lines that assign values to the variables of a script, each a name and its value. They come before
// the text of the script, which contains no values.
func Assign(variables [][2]string) string {
	var words []string
	for _, v := range variables {
		words = append(words, v[0], "=", Quote(v[1]), "\n")
	}
	return strings.Join(words, "") // as long as needed: the plan of a fleet keeps these lines
}

// harmless lists the characters that have no meaning to a shell anywhere inside an argument. "=" and "~" are not among
// them.
const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-"
