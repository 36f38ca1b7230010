package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"holdfast/engine/inventory/expression"
)

// calls maps each function to an example call and its meaning. The reference in
// the documentation shows the results that the code returns.
var calls = map[string][2]string{
	"abs":          {`abs(-3)`, "number without its sign"},
	"base64encode": {`base64encode("ann:secret")`, "text in base64"},
	"ceil":         {`ceil(2.1)`, "rounded up"},
	"chomp":        {`chomp("one\n")`, "text without line breaks at its end"},
	"cidrhost":     {`cidrhost("10.0.0.0/24", 5)`, "an address of a network, also IPv6"},
	"coalesce":     {`coalesce(null, "b")`, "the first value that is not null"},
	"compact":      {`compact(["a", ""])`, "list without empty texts"},
	"concat":       {`concat(["a"], ["b"])`, "lists joined"},
	"contains":     {`contains(["a", "b"], "b")`, "whether a list has a value"},
	"distinct":     {`distinct(["a", "a"])`, "list with each value once"},
	"element":      {`element(["a", "b"], 3)`, "value of a list at an index, which wraps around"},
	"env":          {`env("USER")`, "value of an environment variable; an error if it is not set"},
	"file":         {`chomp(file("commit.txt"))`, "contents of a file; its path is relative to the file that names it"},
	"fileexists":   {`fileexists("commit.txt")`, "whether there is such a file"},
	"flatten":      {`flatten([["a"], "b"])`, "nested lists as one list"},
	"floor":        {`floor(2.9)`, "rounded down"},
	"format":       {`format("w-%02d", 7)`, "text formatted as by printf"},
	"formatlist":   {`formatlist("%s.example", ["a", "b"])`, "the same for each of a list"},
	"indent":       {`indent(2, "a\nb")`, "text with all lines but the first indented"},
	"join":         {`join(",", ["a", "b"])`, "texts of a list, joined with a separator"},
	"jsondecode":   {`jsondecode("{\"a\": 1}")`, "JSON read"},
	"jsonencode":   {`jsonencode({ a = 1 })`, "JSON written"},
	"keys":         {`keys({ a = 1, b = 2 })`, "names in an object, sorted"},
	"length":       {`length(["a", "b"])`, "how many values"},
	"lookup":       {`lookup({ a = 1 }, "b", 0)`, "value of a name, or the default"},
	"lower":        {`lower("AB")`, "text in lower case"},
	"max":          {`max(1, 2)`, "greatest number"},
	"merge":        {`merge({ a = 1 }, { a = 2 })`, "objects joined; the later wins"},
	"min":          {`min(1, 2)`, "smallest number"},
	"parseint":     {`parseint("ff", 16)`, "number from text in a base"},
	"range":        {`range(3)`, "numbers from 0"},
	"regex":        {`regex("[a-z]+", "42ab")`, "first match, or its groups"},
	"regexall":     {`regexall("[0-9]", "a1b2")`, "all matches"},
	"replace":      {`replace("a-b", "-", "_")`, "text with replacements"},
	"reverse":      {`reverse(["a", "b"])`, "list in reverse order"},
	"sensitive":    {`sensitive("x")`, "the value, never to be shown"},
	"sha256":       {`substr(sha256("x"), 0, 8)`, "SHA-256 of text, in hexadecimal digits"},
	"slice":        {`slice(["a", "b", "c"], 0, 2)`, "part of a list, without the element at the end index"},
	"sort":         {`sort(["b", "a"])`, "sorted texts"},
	"split":        {`split(",", "a,b")`, "parts of a text"},
	"substr":       {`substr("abcd", 1, 2)`, "part of a text: start and number of characters"},
	"templatefile": {`templatefile("zone.tmpl", { row = 3 })`, "contents of a file with its ${…} replaced; the file cannot call templatefile"},
	"title":        {`title("ab cd")`, "words with a capital first letter"},
	"tobool":       {`tobool("true")`, "converted to true or false"},
	"tonumber":     {`tonumber("7")`, "converted to a number"},
	"tostring":     {`tostring(7)`, "converted to text"},
	"trim":         {`trim("-a-", "-")`, "text without these letters at both ends"},
	"trimprefix":   {`trimprefix("v1", "v")`, "text without a beginning"},
	"trimspace":    {`trimspace(" a ")`, "text without white space around it"},
	"trimsuffix":   {`trimsuffix("a.hcl", ".hcl")`, "text without an end"},
	"upper":        {`upper("ab")`, "text in upper case"},
	"values":       {`values({ a = 1, b = 2 })`, "values in an object, by name"},
	"zipmap":       {`zipmap(["a"], [1])`, "object of names and values"},
}

// TestFunctions checks that calls has every function, and that each example
// call works.
func TestFunctions(t *testing.T) {
	known := testEvaluator().Functions(hcl.Range{})
	for name := range known {
		if _, ok := calls[name]; !ok {
			t.Errorf("%s is not in the reference", name)
		}
	}
	for name, call := range calls {
		if _, ok := known[name]; !ok || !strings.Contains(call[0], name+"(") {
			t.Errorf("%s: there is no such function, or its call does not show it", name)
		}
		if got := evaluate(call[0]); strings.Contains(got, "ERROR") {
			t.Errorf("%s: %s", call[0], got)
		}
	}
}

// describeFunctions writes the table of functions.
func describeFunctions(b *strings.Builder) {
	b.WriteString("### Functions\n\n| call | result | meaning |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", calls[name][0], evaluate(calls[name][0]), calls[name][1])
	}
	b.WriteString("\n")
}

func testEvaluator() *expression.Evaluator {
	return &expression.Evaluator{
		FS:     fstest.MapFS{"commit.txt": {Data: []byte("4d1f\n")}, "zone.tmpl": {Data: []byte("row-${row}")}},
		Env:    func(name string) (string, bool) { return "ann", name == "USER" },
		Bounds: expression.DefaultBounds,
	}
}

// evaluate returns the value of an expression in HCL syntax.
func evaluate(src string) string {
	expr, diags := hclsyntax.ParseExpression([]byte(src), "call", hcl.InitialPos)
	if diags.HasErrors() {
		return "ERROR " + diags.Error()
	}
	v, diags := expr.Value(&hcl.EvalContext{Functions: testEvaluator().Functions(hcl.Range{})})
	if diags.HasErrors() {
		return "ERROR " + diags.Error()
	}
	if v.ContainsMarked() {
		return "(sensitive)"
	}
	if v.Type() == cty.String {
		return fmt.Sprintf("%q", v.AsString())
	}
	return strings.Join(strings.Fields(string(hclwrite.TokensForValue(v).Bytes())), " ")
}
