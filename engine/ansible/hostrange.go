package ansible

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

var (
	bracketedPort = regexp.MustCompile(`^\[(.+)\]:([0-9]+)$`)
	plainPort     = regexp.MustCompile(`^((?:[^:\[\]]|\[[^\]]*\])*):([0-9]+)$`)
	rangeInName   = regexp.MustCompile(`(?i)\[(?:[a-z]:[a-z]|[0-9]+:[0-9]+)(?::[0-9]+)?\]`)
	hostLabel     = regexp.MustCompile(`^[\pL\p{Nd}_]([\pL\p{Nd}_-]*[\pL\p{Nd}])?$`)
)

// Without these bounds, a short name could become gigabytes: each host repeats all of it.
const (
	maxPattern = 1024 // bytes of a name with ranges
	maxRanges  = 8    // in a name
	maxDigits  = 9    // of the numbers of a range
	maxShown   = 200  // bytes of a name in a message
)

// expandPattern returns the hosts of a name with ranges such as
// worker[01:48].example, and the port after it, or "".
func expandPattern(pattern string) (names []string, port string, err error) {
	if strings.Contains(pattern, "[") && len(pattern) > maxPattern {
		return nil, "", fmt.Errorf("is longer than %d bytes; split it into several names", maxPattern)
	}
	if strings.Count(pattern, "[") > maxRanges {
		return nil, "", fmt.Errorf("has more than %d ranges; split it into several names", maxRanges)
	}
	name := pattern
	for _, rule := range []*regexp.Regexp{bracketedPort, plainPort} {
		if m := rule.FindStringSubmatch(name); m != nil {
			name, port = m[1], strings.TrimLeft(m[2], "0")
		}
	}
	if !isAddress(name) { // Ansible then takes the text as it is
		name, port = pattern, ""
		if strings.HasSuffix(pattern, ":") {
			return nil, "", errors.New("a host does not end with a colon; in a YAML file, name it .yaml")
		}
	}
	if !strings.Contains(name, "[") {
		return []string{name}, port, nil
	}
	names, err = expandRanges(name)
	return names, port, err
}

// isAddress reports whether a name is a host name or an IP address, after its ranges are replaced.
func isAddress(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	for label := range strings.SplitSeq(rangeInName.ReplaceAllString(name, "x"), ".") {
		if !hostLabel.MatchString(label) {
			return false
		}
	}
	return true
}

// expandRanges expands one range after the other, the first one outermost.
func expandRanges(name string) ([]string, error) {
	head, rest, _ := strings.Cut(name, "[")
	text, tail, closed := strings.Cut(rest, "]")
	if !closed {
		return nil, errors.New("a range has no closing bracket")
	}
	ids, err := expandRange(text)
	if err != nil {
		return nil, err
	}
	tails := []string{tail}
	if strings.Contains(tail, "[") {
		if tails, err = expandRanges(tail); err != nil {
			return nil, err
		}
	}
	if len(ids)*len(tails) > maxHosts {
		return nil, fmt.Errorf("has more than %d hosts", maxHosts)
	}
	var names []string
	for _, id := range ids {
		for _, t := range tails {
			names = append(names, head+id+t)
		}
	}
	return names, nil
}

// expandRange returns the elements of a range: begin:end or begin:end:step, of numbers or letters.
func expandRange(text string) ([]string, error) {
	bounds := strings.Split(text, ":")
	if len(bounds) < 2 || len(bounds) > 3 {
		return nil, fmt.Errorf("range [%s] is not [BEGIN:END] or [BEGIN:END:STEP]", text)
	}
	begin, end, step := bounds[0], bounds[1], 1
	if begin == "" {
		begin = "0"
	}
	if end == "" {
		return nil, fmt.Errorf("range [%s] has no end", text)
	}
	if len(bounds) == 3 {
		var err error
		if step, err = strconv.Atoi(bounds[2]); err != nil || step < 1 || len(bounds[2]) > maxDigits {
			return nil, fmt.Errorf("range [%s]: the step is a whole number from 1, of at most %d digits", text, maxDigits)
		}
	}
	if i, j := strings.Index(letters, begin), strings.Index(letters, end); len(begin) == 1 && len(end) == 1 && i >= 0 && j >= 0 {
		return expandLetters(text, i, j, step)
	}
	return expandNumbers(text, bounds, step)
}

func expandLetters(text string, first, last, step int) ([]string, error) {
	if first > last {
		return nil, fmt.Errorf("range [%s] goes backwards", text)
	}
	var ids []string
	for i := first; i <= last; i += step {
		ids = append(ids, letters[i:i+1])
	}
	return ids, nil
}

func expandNumbers(text string, bounds []string, step int) ([]string, error) {
	begin, end := bounds[0], bounds[1]
	if begin == "" {
		begin = "0"
	}
	if len(begin) > maxDigits || len(end) > maxDigits {
		return nil, fmt.Errorf("a range has ends of more than %d digits; write smaller numbers", maxDigits)
	}
	width := 1
	if len(begin) > 1 && begin[0] == '0' {
		width = len(begin)
		if len(end) != width {
			return nil, fmt.Errorf("range [%s]: with zeros in front, both ends need as many digits", text)
		}
	}
	first, err1 := strconv.ParseInt(begin, 10, 32)
	last, err2 := strconv.ParseInt(end, 10, 32)
	switch {
	case err1 != nil || err2 != nil || first < 0:
		return nil, fmt.Errorf("range [%s] has ends that are neither numbers nor letters", text)
	case (last-first)/int64(step) >= maxHosts:
		return nil, fmt.Errorf("range [%s] has more than %d hosts", text, maxHosts)
	}
	var ids []string
	for i := first; i <= last; i += int64(step) {
		ids = append(ids, fmt.Sprintf("%0*d", width, i))
	}
	return ids, nil
}
