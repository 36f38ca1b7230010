package textutil

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// FoldNames shortens a list of names of hosts: worker-01 to worker-48 become
// worker-[01-48]; with gaps, worker-[01-03,07]. It folds the last number before
// the first dot, and only numbers of the same width together, so that a reader
// can restore the names. The result is sorted as text.
func FoldNames(names []string) []string {
	type series struct {
		prefix, suffix string
		width          int
	}
	var groups Groups[series, int]
	var out []string
	for _, name := range names {
		prefix, digits, suffix := cutNumber(name)
		n, err := strconv.Atoi(digits)
		if err != nil {
			out = append(out, name)
			continue
		}
		groups.Add(series{prefix, suffix, len(digits)}, n)
	}
	for s, numbers := range groups.All() {
		sort.Ints(numbers)
		if len(numbers) == 1 {
			out = append(out, fmt.Sprintf("%s%0*d%s", s.prefix, s.width, numbers[0], s.suffix))
			continue
		}
		out = append(out, s.prefix+"["+foldNumbers(numbers, s.width)+"]"+s.suffix)
	}
	sort.Strings(out)
	return out
}

func cutNumber(name string) (prefix, digits, suffix string) {
	head, _, _ := strings.Cut(name, ".")
	end := strings.LastIndexAny(head, "0123456789") + 1
	start := end
	for start > 0 && name[start-1] >= '0' && name[start-1] <= '9' {
		start--
	}
	return name[:start], name[start:end], name[end:]
}

func foldNumbers(numbers []int, width int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] <= numbers[j]+1 {
			j++
		}
		part := fmt.Sprintf("%0*d", width, numbers[i])
		if numbers[j] > numbers[i] {
			part += fmt.Sprintf("-%0*d", width, numbers[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// AndMore returns the first elements of a list. all is the length of the whole
// list. If elements are missing, AndMore adds their number: and 3 more.
func AndMore(first []string, all int) []string {
	if more := all - len(first); more > 0 {
		return append(first[:len(first):len(first)], fmt.Sprintf("and %d more", more))
	}
	return first
}
