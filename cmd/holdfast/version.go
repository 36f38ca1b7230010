package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build identifies the program.
type build struct {
	Version  string `json:"version"`            // version of the release, or devel
	Commit   string `json:"commit,omitempty"`   // commit that the program was built from
	Modified bool   `json:"modified,omitempty"` // the checkout had uncommitted changes
}

// packagedVersion and packagedCommit identify the program in a package. cmd/holdfast-package sets them with flags of the linker,
// because Go finds the commit only in some kinds of checkouts; in all other programs they are empty.
var packagedVersion, packagedCommit string

func readBuild() build {
	if packagedVersion != "" {
		return build{Version: packagedVersion, Commit: packagedCommit}
	}
	b := build{Version: "devel"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns version and commit.
func (b build) String() string {
	text := b.Version
	if b.Commit != "" {
		text += " (commit " + b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			text += ", with changes"
		}
		text += ")"
	}
	return text
}

// buildID returns the commit of the program, or its version if the commit is
// unknown.
func buildID() string {
	b := readBuild()
	if len(b.Commit) >= 12 {
		return b.Commit[:12]
	}
	return b.Version
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of holdfast and the commit it was built from",
		Args:  expectArgs(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(readBuild())
			}
			_, err := fmt.Fprintln(a.stdout, "holdfast version", readBuild())
			return err
		},
	}
}
