package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestEachArgumentMatchesAScenario(t *testing.T) {
	for args, want := range map[string]string{
		"zones":                "",
		"zones$ ^update-three": "",
		"zones update-thre$":   `no scenario matches "update-thre$"; --list shows the names`,
		"zones core$":          `no scenario matches "core$"; --list shows the names`,
		"zones (":              "missing closing )",
	} {
		match, err := compileNames(strings.Fields(args))
		if want == "" && (err != nil || !match.MatchString("zones")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", args, match, err)
		}
	}
}

// TestNightRunNamesScenarios checks the list of .ci/run, which is read only at the end of a night.
func TestNightRunNamesScenarios(t *testing.T) {
	text, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^main=\((.*)\)$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("there is no list of main scenarios")
	}
	for _, name := range strings.Fields(string(found[1])) {
		if _, err := compileNames([]string{"^" + name + "$"}); err != nil {
			t.Error(err)
		}
	}
}
