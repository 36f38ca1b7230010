package man

import (
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var (
	titleLine = regexp.MustCompile(`(?m)^(\.TH "[^"]*" "1") "[^"]*"`)
	flagLine  = regexp.MustCompile(`(?m)^\.PP\n(\\fB-.*)\n\t(.*)$`)
	flagName  = regexp.MustCompile(`\\fB--([a-z-]+)\\fP(\[=false\]|=\S*)?`)
)

// tidyRoff corrects the page of cobra: a flag is a tagged paragraph with the name of its
// value, the date is complete, and no line is too long.
func tidyRoff(page string, cmd *cobra.Command, date time.Time) string {
	page = titleLine.ReplaceAllString(page, `$1 "`+date.Format(time.DateOnly)+`"`)
	page = strings.ReplaceAll(page, "OPTIONS\n\\fB-", "OPTIONS\n.PP\n\\fB-") // the first flag of a section
	page = strings.ReplaceAll(page, "COMMANDS\n\\fB-", "COMMANDS\n.PP\n\\fB-")
	page = flagLine.ReplaceAllStringFunc(page, func(found string) string {
		m := flagLine.FindStringSubmatch(found)
		names := flagName.ReplaceAllStringFunc(m[1], func(name string) string { return describeFlag(cmd, flagName.FindStringSubmatch(name)[1]) })
		return ".TP\n" + strings.ReplaceAll(names, "\\fB-", "\\fB\\-") + "\n" + m[2]
	})
	return wrapLines(page)
}

// describeFlag returns a flag with the name of its value, if it has one.
func describeFlag(cmd *cobra.Command, name string) string {
	text := `\fB\-\-` + escapeRoff(name) + `\fP`
	flag := cmd.Flag(name)
	if flag == nil {
		return text
	}
	if value, _ := pflag.UnquoteUsage(flag); value != "" {
		text += ` \fI` + escapeRoff(value) + `\fP`
	}
	return text
}

// wrapLines wraps the lines of paragraphs, and removes empty ones. Examples stay as they are.
func wrapLines(page string) string {
	const width = 80
	var lines []string
	example := false
	for line := range strings.SplitSeq(page, "\n") {
		switch {
		case line == ".EX", line == ".EE":
			example = line == ".EX"
		case example:
			lines = append(lines, line)
			continue
		case line == "":
			continue
		}
		for !strings.HasPrefix(line, ".") && len(line) > width {
			at := strings.LastIndexByte(line[:width], ' ')
			if at <= 0 {
				break
			}
			lines, line = append(lines, line[:at]), protectStart(line[at+1:])
		}
		lines = append(lines, line)
	}
	return dropEmptyParagraphs(strings.Join(lines, "\n") + "\n")
}

// protectStart keeps a line that was wrapped from being taken for a request.
func protectStart(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}

func dropEmptyParagraphs(page string) string {
	for {
		next := regexp.MustCompile(`\.PP\n(\.SH|\.PP|\.TP|$)`).ReplaceAllString(page, "$1")
		if next == page {
			return page
		}
		page = next
	}
}
