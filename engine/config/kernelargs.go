package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"holdfast/engine/resource"
)

// kernelArgProblem returns why a kernel argument is refused, and the next step, or "".
func kernelArgProblem(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "is empty; name a kernel argument"
	case hasControlCharacters(s):
		return "has a control character, or a character that is not valid in UTF-8; remove it"
	case strings.Count(s, `"`)%2 != 0:
		return `has a " without its pair; close it`
	case slices.ContainsFunc(resource.SplitKernelArgs(s), resource.KeepsQuote):
		return `has a " within a value, which GRUB removes and other boot loaders keep; quote the whole value, as in a="b c"`
	}
	if c := resource.FindGRUBChange(s); c != "" {
		return "has a " + c + ", which GRUB changes, also in quotes, and other boot loaders keep; write the argument without it"
	}
	return kernelArgSpaceProblem(s)
}

// kernelArgSpaceProblem refuses characters that look like a space, although the kernel splits elsewhere or not at all. It also
// refuses characters that the kernel would split in two.
func kernelArgSpaceProblem(s string) string {
	quoted, n := false, 0
	for _, r := range s {
		n++
		switch {
		case r == '"':
			quoted = !quoted
		case r == ' ':
		case unicode.IsSpace(r):
			return fmt.Sprintf("has %U in place of a space, at character %d; type a plain space", r, n)
		case !quoted && !slices.Equal(resource.SplitKernelArgs(string(r)), []string{string(r)}):
			return fmt.Sprintf(`has "%c" outside of double quotes, where the kernel takes a byte of it for a space; quote the value`, r)
		}
	}
	return ""
}
