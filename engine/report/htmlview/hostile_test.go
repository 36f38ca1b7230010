package htmlview_test

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/htmlview"
	"holdfast/engine/report/reporttest"
)

// hostileTexts are texts that hosts and documents may contain.
func hostileTexts() map[string]string {
	return map[string]string{
		"element":     `<script>alert(1)</script><img src=x onerror=alert(1)>`,
		"attribute":   `" onload="alert(1)" x='`,
		"end of tag":  `</td></table></style></title></svg><h1>all is well</h1>`,
		"template":    `{{.}}<!-- -->]]>&lt;&#0;`,
		"address":     `javascript:alert(1)`,
		"styles":      `}*{display:none}</style>`,
		"terminal":    reporttest.Hostile,
		"right left":  "\u202eevil\u2066\u200f",
		"not UTF-8":   "\xff\xfe\x00",
		"very long":   strings.Repeat("long<b>", 150_000),
		"many lines":  strings.Repeat("line\n", 3000),
		"byte orders": "\ufeff\ufffe\U000e0041",
	}
}

func allTypes() []event.Type {
	return []event.Type{
		event.RunStarted, event.HostsGathered, event.HostGathered, event.Planned, event.StageStarted, event.StageEnded,
		event.BatchStarted, event.StepStarted, event.StepProgress, event.StepEnded, event.BatchEnded, event.HostDone,
		event.HostFailed, event.EtcdSampled, event.StagingGoverned, event.Warned, event.Interrupted, event.RunEnded,
	}
}

// hostileRun returns a run in which every text of every event is that text.
func hostileRun(text string, members bool) []event.Event {
	at := reporttest.Began
	var events []event.Event
	for _, failed := range []bool{true, false} {
		for _, typ := range append(allTypes(), event.Type(text)) {
			if typ == event.RunEnded && failed || typ == event.Planned && members {
				continue
			}
			e := reporttest.FilledValue[event.Event](text)
			at = at.Add(time.Second)
			e.Type, e.Time, e.Schema, e.Batch, e.Took = typ, at, event.Schema, 1, engine.Duration(time.Minute)
			e.Kind = map[event.Type]engine.StepKind{event.StepEnded: engine.EtcdStep}[typ]
			e.Etcd.Voters, e.Etcd.Healthy, e.Etcd.Quorum = 3, 2, 2
			e.Etcd.Latency[0].WALFsyncP99Seconds, e.Etcd.Latency[0].BackendCommitP99Seconds = 0.02, 0.03
			e.Governor.Limit, e.Governor.Metric = engine.Duration(10*time.Millisecond), engine.WALFsync
			if !members {
				e.Start.Cluster = ""
			}
			if !failed && typ != event.HostFailed {
				e.Failure = nil
			}
			events = append(events, e)
		}
	}
	return events
}

// TestHostileTextsStayTexts checks that no text of a journal becomes markup, a
// control character or another direction of writing, and that a very long one
// does not make the page long. writePage checks elements and attributes.
func TestHostileTextsStayTexts(t *testing.T) {
	plain := map[bool]map[string]int{}
	for _, members := range []bool{false, true} {
		plain[members] = countElements(writePage(t, hostileRun("harmless", members), htmlview.Journal{}))
	}
	for name, hostile := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			for _, members := range []bool{false, true} {
				page := writePage(t, hostileRun(hostile, members), htmlview.Journal{Problem: hostile})
				for _, r := range page {
					if r != '\n' && !unicode.IsGraphic(r) {
						t.Fatalf("%q reaches the browser", r)
					}
				}
				elements := countElements(page)
				for element := range elements {
					if plain[members][element] == 0 && element != "pre" { // of an error output with several lines
						t.Errorf("the page has an element %s", element)
					}
				}
				if n := elements["h1"]; n != 1 {
					t.Errorf("the page has %d elements h1", n)
				}
				if len(page) > 2<<20 {
					t.Errorf("the page has %d bytes", len(page))
				}
				shown, _, _ := strings.Cut(html.EscapeString(hostile), "\n")
				if name == "element" && !strings.Contains(page, shown) {
					t.Errorf("the page lacks %q", shown)
				}
			}
		})
	}
}

func countElements(page string) map[string]int {
	n := map[string]int{}
	for _, m := range regexp.MustCompile(`<([a-z0-9]+)`).FindAllStringSubmatch(page, -1) {
		n[m[1]]++
	}
	return n
}

// TestPolicyAllowsTheStyles checks that the policy of the page has the digest of
// its styles, and allows nothing else.
func TestPolicyAllowsTheStyles(t *testing.T) {
	page := writePage(t, reporttest.ExampleRun(), htmlview.Journal{})
	_, rest, _ := strings.Cut(page, "<style>")
	styles, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(styles))
	want := `default-src 'none'; style-src 'sha256-` + base64.StdEncoding.EncodeToString(sum[:]) + `'; base-uri 'none'; form-action 'none'`
	_, rest, _ = strings.Cut(page, `http-equiv="Content-Security-Policy" content="`)
	policy, _, _ := strings.Cut(rest, `"`)
	if got := html.UnescapeString(policy); got != want {
		t.Errorf("the policy is %s, not %s", got, want)
	}
}
