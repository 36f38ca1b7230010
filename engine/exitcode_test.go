package engine_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/docstest"
)

var updateDocs = flag.Bool("update-docs", false, "write the table of exit codes")

// TestExitCodesAreDocumented compares the table of the page with the code. Help texts, man pages and the HTML page of a run
// have the same meanings.
func TestExitCodesAreDocumented(t *testing.T) {
	var table strings.Builder
	table.WriteString("| code | meaning | next step |\n|---|---|---|\n")
	for i, c := range engine.ExitCodes() {
		if int(c) != i || strings.HasPrefix(c.Meaning(), "an exit code that") {
			t.Errorf("exit code %d has no meaning, or is not in order", c)
		}
		fmt.Fprintf(&table, "| %d | %s | %s |\n", c, c.Meaning(), c.NextStep())
	}
	docstest.Page{Path: "../docs/exit-codes.md", Arguments: "./engine -run ExitCodes -update-docs", Update: *updateDocs}.CheckGenerated(t, table.String())
}
