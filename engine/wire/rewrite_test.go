package wire_test

import (
	"strings"
	"testing"

	"holdfast/engine/wire"
)

type rewritten struct {
	Name  string
	Next  *rewritten
	Words []string
	ByKey map[string]*rewritten
	Bytes []byte

	hidden string
}

// TestRewriteCopiesOnlyChanges checks that a value without a changed text is
// not copied, and that a change anywhere does not reach the original.
func TestRewriteCopiesOnlyChanges(t *testing.T) {
	plain := rewritten{Name: "a", Next: &rewritten{Name: "b"}, Words: []string{"c"}, ByKey: map[string]*rewritten{"d": {Name: "e"}}, Bytes: []byte("x"), hidden: "x"}
	hide := func(s string) string { return strings.ReplaceAll(s, "x", "-") }
	if got := wire.RewriteTexts(plain, true, hide); got.Next != plain.Next || &got.Words[0] != &plain.Words[0] || got.ByKey["d"] != plain.ByKey["d"] {
		t.Error("a value without a change was copied")
	}
	for name, v := range map[string]rewritten{
		"a field":       {Name: "x", Next: &rewritten{}},
		"behind it":     {Next: &rewritten{Words: []string{"x"}}},
		"a map's key":   {Next: &rewritten{}, ByKey: map[string]*rewritten{"x": nil}},
		"a map's entry": {Next: &rewritten{}, ByKey: map[string]*rewritten{"d": {Name: "x"}}},
	} {
		got := wire.RewriteTexts(v, true, hide)
		if containsWord(got, "x") || !containsWord(v, "x") {
			t.Errorf("%s: %+v of %+v", name, got, v)
		}
	}
}

func containsWord(v rewritten, word string) bool {
	found := v.Name == word || strings.Join(v.Words, "") == word || v.Next != nil && containsWord(*v.Next, word)
	for k, e := range v.ByKey {
		found = found || k == word || e != nil && containsWord(*e, word)
	}
	return found
}
