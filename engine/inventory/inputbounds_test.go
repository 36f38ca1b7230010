package inventory

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/inventory/expression"
	"holdfast/engine/longtest"
)

// endless is a file system with one file that never ends, like /dev/zero.
type endless struct{ fstest.MapFS }

func (e endless) Open(name string) (fs.File, error) {
	f, err := e.MapFS.Open(name)
	if err == nil && strings.HasSuffix(name, "zero") {
		return nothing{f}, nil
	}
	return f, err
}

type nothing struct{ fs.File }

func (nothing) Read(b []byte) (int, error) { return len(b), nil }

var _ io.Reader = nothing{}

// TestBounds checks that a small inventory cannot use up the memory or the
// stack of the bastion.
func TestBounds(t *testing.T) {
	bounds := expression.DefaultBounds
	bounds.Items, bounds.Rounds, bounds.Bytes = bounds.Items/400, bounds.Rounds/400, 72<<20
	deep := longtest.Choose(5_000, 50_000, 50_000)
	doubling := "a0 = \"0123456789abcdef\"\n"
	for i := range 40 {
		doubling += fmt.Sprintf("a%d = \"${local.a%d}${local.a%d}\"\n", i+1, i, i)
	}
	halfDoubled := strings.Join(strings.SplitAfter(doubling, "\n")[:17], "") // up to 1 MiB
	local := func(e string) string { return "site \"s\" {}\nlocals {\n  x = " + e + "\n}\n" }
	for _, tc := range []struct{ name, text, want string }{
		{"a file that never ends", local(`file("zero")`), "site.hcl:3:13: Invalid function argument: Invalid value for \"path\" parameter: read"},
		{"a template that never ends", local(`templatefile("zero", {})`), "or never ends"},
		{"a wide format", local(`format("%999999999s", "")`), "site.hcl:3:15: Invalid function argument: Invalid value for \"format\" parameter: a width, precision or index is more than 10000"},
		{"a precise format", local(`format("%.999999999f", 1)`), "more than 10000"},
		{"a format of many", local(`formatlist("%99999999999999999999s", ["a"])`), "more than 10000"},
		{"indented far", local(`indent(999999999, "a\nb")`), "more than 64 MiB"},
		{"replaced by much", local(`replace(format("%9999s", ""), " ", join("", [for i in range(1000) : format("%9999s", "")]))`), "more than 64 MiB"},
		{"joined by much", local(`join(join("", [for i in range(1000) : format("%9999s", "")]), range(1000))`), "more than 64 MiB"},
		{"locals that double", "site \"s\" {}\nlocals {\n" + doubling + "}\n", "site.hcl:23:10: the text is too long: all texts and results of functions of the inventory have more than 18 MiB; make them once, in locals"},
		{"a text of many parts", "site \"s\" {}\nlocals {\n" + halfDoubled + "x = \"" + strings.Repeat("${local.a16}", 65) + "\"\n}\n", "the text is too long: a text may have 64 MiB; repeat less"},
		{"a loop of texts", "site \"s\" {}\nlocals {\n" + halfDoubled + "x = [for i in range(80) : \"${local.a16}.\"]\n}\n", "site.hcl:20:30: the text is too long: all texts and results of functions of the inventory have more than 18 MiB; make them once, in locals"},
		{"a loop of one long literal", local("[for i in range(80) : \"" + strings.Repeat("x", 1<<18) + "\"]"), "site.hcl:3:30: the text is too long: all texts"},
		{"a loop of one long heredoc", local("[for i in range(80) : <<E\n" + strings.Repeat(strings.Repeat("x", 1023)+"\n", 1<<8) + "E\n]"), "the text is too long: all texts"},
		{"a long document of many hosts", "site \"s\" {}\npool \"w\" {}\nhosts \"w\" {\n  range = \"1-1000\"\n  address = \"w${id}\"\n  pool = \"w\"\n  config \"a.bu\" { content = \"" + strings.Repeat("x", 1<<18) + "\" }\n}\n", "the text is too long: all texts"},
		{"loops within a text", "site \"s\" {}\nlocals {\n" + halfDoubled + "x = \"%{for i in range(65)}${local.a16}%{endfor}\"\n}\n", "site.hcl:20:6: the text is too long"},
		{"texts of a template", "site \"s\" {}\nlocals {\n" + halfDoubled + "x = [for i in range(80) : templatefile(\"long\", { t = local.a16 })]\n}\n", "long:1:3: the text is too long: all texts"},
		{"many pools", "site \"s\" {}\n" + numberPools(1001), "site.hcl:1002:6: the inventory has 1001 pools; the limit is 1000: merge pools"},
		{"brackets", local(strings.Repeat("[", deep) + strings.Repeat("]", deep)), "site.hcl:3:105: nested too deep"},
		{"parentheses", local(strings.Repeat("(", deep)), "nested too deep"},
		{"objects", local(strings.Repeat("{a=", deep)), "nested too deep"},
		{"blocks", strings.Repeat("a {\n", deep), "nested too deep"},
		{"templates", local(strings.Repeat("\"${", deep)), "nested too deep"},
		{"directives", local("<<E\n" + strings.Repeat("%{if true}", deep) + "\nE"), "nested too deep"},
		{"signs", local(strings.Repeat("!", deep) + "true"), "nested too deep"},
		{"sums", local("1" + strings.Repeat("+1", deep)), "nested too deep"},
		{"choices", local(strings.Repeat("true ? 1 : ", deep) + "2"), "nested too deep"},
		{"indexes", local("local.y" + strings.Repeat("[local.z]", deep)), "nested too deep"},
		{"loops in loops", local(`[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c]]]`), "site.hcl:3:65: too many rounds: the loops of the inventory go through more than 12500 values"},
		{"loops of a template", local(`templatefile("loops", { list = range(1000) })`), "loops:1:"},
		{"many long lists", local(`[for a in range(1000) : range(1000)]`), "have more than 50000 values"},
		{"a large file", "#" + strings.Repeat("x", expression.MaxSourceBytes), "more than 8 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bounds := bounds
			if strings.Contains(tc.want, "all texts") {
				bounds.Bytes = 18 << 20
			}
			_, err := loadWithin(Source{FS: endless{fstest.MapFS{"site.hcl": {Data: []byte(tc.text)}, "zero": {}, "long": {Data: []byte("${t}.")}, "loops": {Data: []byte("%{for a in list}%{for b in list}%{for c in list}${a}${b}%{endfor}%{endfor}%{endfor}")}}}, Paths: []string{"site.hcl"}}, bounds, piecesFrom)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %.500v, want %s", err, tc.want)
			}
		})
	}
}

// TestBoundsLeaveRoom checks that real inventories stay far below the bounds.
func TestBoundsLeaveRoom(t *testing.T) {
	var b strings.Builder
	b.WriteString("site \"s\" {}\npool \"w\" {}\nlocals {\n  many = [\n")
	for range 1500 {
		b.WriteString("    \"${upper(\"a\")}-${lower(\"B\")}\",\n")
	}
	b.WriteString("  ]\n  text = <<E\n" + strings.Repeat("case $x in a) echo ${lower(\"X\")};; (b) echo \"((\";; esac\n", 1500) + "E\n}\n")
	b.WriteString(strings.Repeat("# comment\n", 1500) + "host \"a\" {\n  address = \"a\"\n  pool = \"w\"\n}\n")
	if _, err := Load(Source{FS: fstest.MapFS{"site.hcl": {Data: []byte(b.String())}}, Paths: []string{"site.hcl"}}); err != nil {
		t.Fatalf("%.500v", err)
	}
}

// numberPools returns blocks of that many pools, each on a line.
func numberPools(count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "pool \"p%d\" {}\n", i)
	}
	return b.String()
}
