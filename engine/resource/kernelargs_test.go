package resource

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
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

// nextArg is next_arg of the kernel (lib/cmdline.c): it returns the parameter, its value and whether it has one, and the rest.
func nextArg(args string) (param, value string, hasValue bool, rest string) {
	b := []byte(args + "\x00\x00")
	begin, equals, i := 0, 0, 0
	inQuote, quoted := false, false
	if b[0] == '"' {
		begin, inQuote, quoted = 1, true, true
	}
	text := b[begin:]
	for ; text[i] != 0; i++ {
		if isKernelSpace(text[i]) && !inQuote {
			break
		}
		if equals == 0 && text[i] == '=' {
			equals = i
		}
		if text[i] == '"' {
			inQuote = !inQuote
		}
	}
	end, valueBegin := i, equals+1
	if equals > 0 && text[valueBegin] == '"' {
		valueBegin++
		if text[i-1] == '"' {
			end = i - 1
		}
	}
	if quoted && i > 0 && text[i-1] == '"' {
		end = i - 1
	}
	rest = strings.TrimRight(string(text[i:]), "\x00")
	if equals == 0 {
		return string(text[:end]), "", false, rest
	}
	return string(text[:equals]), string(text[min(valueBegin, max(end, valueBegin)):max(end, valueBegin)]), true, rest
}

// TestNormalizeKernelArg: spellings that the kernel reads alike become one, which it reads in the same way.
func TestNormalizeKernelArg(t *testing.T) {
	for arg, want := range map[string]string{
		"quiet":                  "quiet",
		"a=1":                    "a=1",
		"a=":                     "a=",
		`a=""`:                   "a=",
		`a="b"`:                  "a=b",
		`"a=b"`:                  "a=b",
		`"a"`:                    "a",
		`"a=b c"`:                `a="b c"`,
		`a="b c"`:                `a="b c"`,
		`dyndbg="file foo.c +p"`: `dyndbg="file foo.c +p"`,
		`"dyndbg=file foo.c +p"`: `dyndbg="file foo.c +p"`,
		`"a b"`:                  `"a b"`,
		`"a b=c d"`:              `"a b=c d"`,
		`x=a" b "c`:              `x=a" b "c`,
		`a='b`:                   `a='b`,
		"\"y=\u00e0\u00a0\"":     "y=\"\u00e0\u00a0\"",
		`a=b=c`:                  "a=b=c",
		`a=b;c`:                  `a="b;c"`,
		`a="b;c"`:                `a="b;c"`,
		`"a=b{c}"`:               `a="b{c}"`,
		`a&b=c`:                  `"a&b=c"`,
		`|`:                      `"|"`,
		`a=x\x2dy`:               `a="x\x2dy"`,
		`a=x\y`:                  `a=x\y`,
		`a=b$c`:                  `a=b$c`,
		`a=*,:@?[b]!#%`:          `a=*,:@?[b]!#%`,
		`"a="`:                   "a=",
	} {
		if got := NormalizeKernelArg(arg); got != want {
			t.Errorf("%s: %s, want %s", arg, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOfN(rapid.SampledFrom([]rune(`ab= "<`)), 1, 12, -1).Draw(t, "line")
		for _, arg := range SplitKernelArgs(line) {
			normal := NormalizeKernelArg(arg)
			if again := NormalizeKernelArg(normal); again != normal {
				t.Fatalf("%s: %s, and then %s", arg, normal, again)
			}
			param, value, has, rest := nextArg(arg)
			if p, v, h, r := nextArg(normal); p != param || v != value || h != has || r != rest {
				t.Fatalf("%s is %q %q %v, and %s is %q %q %v", arg, param, value, has, normal, p, v, h)
			}
			if !strings.Contains(param+value, `"`) && strings.Count(arg, `"`)%2 == 0 {
				other := `"` + param + map[bool]string{true: "="}[has] + value + `"` // as GRUB writes it
				if p, v, h, _ := nextArg(other); p == param && v == value && h == has && NormalizeKernelArg(other) != normal {
					t.Fatalf("%s is %s, and %s is %s", arg, normal, other, NormalizeKernelArg(other))
				}
			}
		}
	})
}

func TestFindGRUBChange(t *testing.T) {
	for arg, want := range map[string]string{
		"memmap=4G$8G": "$", `"a=b'c"`: "'", `a=\$b`: `\`, `a=\x2`: `\`, `a=\\x2d`: `\`, `"systemd.wants=dev-disk-by\x2dlabel-a.device"`: "", "a=b;c|{d}": "", "a=*,:@?[b]!#%": "",
	} {
		if got := FindGRUBChange(arg); got != want {
			t.Errorf("%s: %q, want %q", arg, got, want)
		}
	}
}
