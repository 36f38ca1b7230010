package hostscript

import "strings"

// Quote returns s as one word of a POSIX shell command: sh expands it to exactly the bytes of s in any
// locale. Every value that reaches a shell goes through it. Words of harmless characters only are not quoted, so that printed
// commands can be read; such a word is meant as an argument, not as the name of the command.
//
// A NUL byte cannot be part of an argument in POSIX and is not quoted: senders refuse a script that contains it.
func Quote(s string) string {
	if s != "" && strings.Trim(s, harmless) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// harmless are the characters that mean nothing to a shell anywhere inside an argument. "=" and "~" are not among them.
const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-"
