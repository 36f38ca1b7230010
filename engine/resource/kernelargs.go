package resource

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
