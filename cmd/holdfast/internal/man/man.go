// Package man makes the man pages of the commands. Only the program that packages
// holdfast, and tests, use it: cobra's generator is no part of the product.
package man

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"holdfast/engine"
)

// Write writes a page for each command into a folder. date is the date of all pages,
// and source is the name of the program with its version.
func Write(root *cobra.Command, dir, source string, date time.Time) error {
	root.DisableAutoGenTag = true
	return writeTree(root, dir, doc.GenManHeader{Section: "1", Source: source, Manual: "holdfast", Date: &date})
}

func writeTree(cmd *cobra.Command, dir string, header doc.GenManHeader) error {
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeTree(c, dir, header); err != nil {
			return err
		}
	}
	page, err := newPage(cmd, header)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	return os.WriteFile(filepath.Join(dir, name), page, 0o644)
}

// newPage returns cobra's page, with the sections that cobra does not know before
// SEE ALSO.
func newPage(cmd *cobra.Command, header doc.GenManHeader) ([]byte, error) {
	long := cmd.Long
	text, _, _ := strings.Cut(long, "\n\nExit status:\n") // a section of its own
	cmd.Long = escapeMarkdown(strings.TrimSpace(text))
	defer func() { cmd.Long = long }()
	var page bytes.Buffer
	if err := doc.GenMan(cmd, &header, &page); err != nil {
		return nil, err
	}
	before, after, found := bytes.Cut(page.Bytes(), []byte(".SH SEE ALSO\n"))
	roff := tidyRoff(string(before), cmd, *header.Date) + wrapLines(exitSection()+filesSection())
	if found {
		roff += ".SH SEE ALSO\n" + wrapLines(string(after))
	}
	return []byte(roff), nil
}

// escapeMarkdown keeps the text of a command from being taken for markup.
func escapeMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "_", `\_`, "*", `\*`, "`", "\\`", "<", `\<`, "[", `\[`, "]", `\]`).Replace(text)
}

func exitSection() string {
	var s strings.Builder
	s.WriteString(".SH EXIT STATUS\n")
	for _, c := range engine.ExitCodes() {
		fmt.Fprintf(&s, ".TP\n\\fB%d\\fP\n%s.\n", c, escapeRoff(c.Meaning()))
	}
	return s.String()
}

// files lists the files that commands read and write, besides those that flags name.
var files = [][2]string{
	{"inventory.hcl", "The inventory, if neither --inventory nor $HOLDFAST_INVENTORY names another one."},
	{"runs", "The folder of journals, snapshots and locks, beside the inventory, if neither --runs nor $HOLDFAST_RUNS names another one."},
	{"$XDG_STATE_HOME/holdfast, ~/.local/state/holdfast", "The identity of this bastion. Holds on hosts carry it."},
	{"~/.ssh/config", "Read as by ssh, like the files that it includes."},
	{"/var/lib/holdfast on a host", "The hold of the host, and the record of what holdfast has applied to it."},
}

func filesSection() string {
	var s strings.Builder
	s.WriteString(".SH FILES\n")
	for _, f := range files {
		fmt.Fprintf(&s, ".TP\n\\fI%s\\fP\n%s\n", escapeRoff(f[0]), escapeRoff(f[1]))
	}
	return s.String()
}

func escapeRoff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "~", `\(ti`, `"`, `\(dq`).Replace(text)
}
