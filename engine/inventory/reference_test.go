package inventory

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"holdfast/engine/docstest"
)

var update = flag.Bool("update", false, "write the generated part of docs/inventory-reference.md")

const reference = "../../docs/inventory-reference.md"

// TestReference checks that the reference in the documentation matches the
// loader.
func TestReference(t *testing.T) {
	docstest.Page{Path: reference, Arguments: "./engine/inventory -update", Update: *update}.CheckGenerated(t, renderReference())
}

func renderReference() string {
	var b strings.Builder
	for _, top := range inventorySchema().blocks {
		describeBlock(&b, "", top)
	}
	describeFunctions(&b)
	return b.String()
}

// describeBlock writes a block, its arguments and the blocks in it.
func describeBlock(b *strings.Builder, path string, blk block) {
	path = strings.TrimSpace(path + " " + blk.name)
	title := path
	if blk.label != "" {
		title += " \"" + strings.ToUpper(blk.label) + "\""
	}
	fmt.Fprintf(b, "### `%s`\n\n%s", title, blk.meaning)
	if blk.many {
		b.WriteString(" Any number of them.")
	}
	b.WriteString("\n\n")
	if len(blk.arguments) > 0 {
		b.WriteString("| argument | type | default | meaning |\n|---|---|---|---|\n")
	}
	for _, a := range blk.arguments {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", a.name, a.kind, byDefault(a), tableCell(a.meaning))
	}
	if len(blk.arguments) > 0 {
		b.WriteString("\n")
	}
	for _, c := range blk.blocks {
		if c.name == "ssh" && blk.name != "site" {
			fmt.Fprintf(b, "`%s ssh`: as `site ssh`. %s\n\n", path, c.meaning)
			continue
		}
		describeBlock(b, path, c)
	}
}

func byDefault(a argument) string {
	switch {
	case a.required:
		return "required"
	case a.fallback == "":
		return "none"
	}
	return tableCell(a.fallback)
}

func tableCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

var rangeRow = regexp.MustCompile("(?m)^\\| `([0-9,-]+)` \\| (w-[^|]*) \\|$")

// TestRangesDocumented checks that each range in the documentation expands to
// the hosts that the page lists.
func TestRangesDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/inventory.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := rangeRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 4 {
		t.Errorf("only %d ranges", len(rows))
	}
	for _, row := range rows {
		ids, err := expandRange(row[1])
		if got := "w-" + strings.Join(ids, " w-"); err != nil || got != row[2] {
			t.Errorf("%s: %s, %v; want %s", row[1], got, err, row[2])
		}
	}
}
