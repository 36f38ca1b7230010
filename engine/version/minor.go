package version

import (
	"fmt"
	"regexp"
)

// Minor is a minor version, such as 3.6.
type Minor struct{ Major, Minor int }

// ParseMinor returns the minor version of a version such as "3.6.4". ok is false if the text does not begin with two numbers.
func ParseMinor(text string) (v Minor, ok bool) {
	n, _ := fmt.Sscanf(text, "%d.%d", &v.Major, &v.Minor)
	return v, n == 2
}

// IsBefore reports whether the version is older than another.
func (v Minor) IsBefore(w Minor) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

// SkipsAfter reports whether an update from w to v skips a minor version, or changes the major one.
func (v Minor) SkipsAfter(w Minor) bool { return v.Major != w.Major || w.Next().IsBefore(v) }

// Next returns the next minor version.
func (v Minor) Next() Minor { return Minor{v.Major, v.Minor + 1} }

// String returns both numbers, with a dot between them.
func (v Minor) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Oldest returns the version with the oldest minor version, or "" if none has one.
func Oldest(texts []string) string {
	oldest := ""
	for _, text := range texts {
		v, ok := ParseMinor(text)
		if o, known := ParseMinor(oldest); ok && (!known || v.IsBefore(o)) {
			oldest = text
		}
	}
	return oldest
}

// etcdLine is the first line that "etcd --version" prints.
var etcdLine = regexp.MustCompile(`^etcd Version: ([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}[0-9A-Za-z.+-]{0,40})\n`)

// ReadEtcd returns the version in the output of "etcd --version", or "" if it has none.
func ReadEtcd(output string) string {
	if match := etcdLine.FindStringSubmatch(output); match != nil {
		return match[1]
	}
	return ""
}
