package resource

import (
	"slices"
	"testing"
)

func TestSplitKernelArgs(t *testing.T) {
	for line, want := range map[string][]string{
		"":                                nil,
		" \n":                             nil,
		"quiet":                           {"quiet"},
		"  root=LABEL=root \t rw quiet\n": {"root=LABEL=root", "rw", "quiet"},
		"a\vb\fc\rd":                      {"a", "b", "c", "d"},
		`x="b c" d`:                       {`x="b c"`, "d"},
		`"x=b c" d`:                       {`"x=b c"`, "d"},
		`x=a" b "c d`:                     {`x=a" b "c`, "d"},
		`x="" y`:                          {`x=""`, "y"},
		`x="b c`:                          {`x="b c`},
		`x=\"b c\" d`:                     {`x=\"b c\"`, "d"}, // a backslash escapes nothing
		`init=/a -- b=c`:                  {"init=/a", "--", "b=c"},
		"a\x85b\x1fc":                     {"a\x85b\x1fc"},                  // Unicode and POSIX have more spaces than the kernel
		"a\u2003b\u3000c":                 {"a\u2003b\u3000c"},              // no byte of these characters is 0xA0
		"a\u00a0b":                        {"a\xc2", "b"},                   // 0xC2 0xA0
		"x=\u00e0 \"y=\u00e0\u00a0\"":     {"x=\xc3", "\"y=\u00e0\u00a0\""}, // 0xC3 0xA0
		"x='b c'":                         {"x='b", "c'"},
	} {
		if got := SplitKernelArgs(line); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
