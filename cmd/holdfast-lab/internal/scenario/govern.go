package scenario

import (
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// governorOff is the line of an etcd_cluster that switches the governor off. A
// governed staging of a member takes about a minute longer, and few scenarios are
// about the governor.
const governorOff = "  governor = false\n"

var clusterLine = regexp.MustCompile(`(?m)^etcd_cluster ".*" \{\n`)

// addGovernorOff returns the inventory of a lab with the governor switched off in
// each etcd_cluster.
func addGovernorOff(inventory string) string {
	return clusterLine.ReplaceAllString(inventory, "${0}"+governorOff)
}

// removeGovernorOff returns an inventory in which all clusters are governed, which
// is the default.
func removeGovernorOff(inventory string) string {
	return strings.ReplaceAll(inventory, governorOff, "")
}

func cmdGovern(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "govern")
	text := ts.ReadFile(ts.MkAbs(siteInventory))
	governed := removeGovernorOff(text)
	if governed == text {
		ts.Fatalf("no etcd_cluster of the inventory has the governor switched off")
	}
	ts.Check(os.WriteFile(ts.MkAbs(siteInventory), []byte(governed), 0o600))
}
