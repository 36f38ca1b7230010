package inventory

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/window"
)

var (
	clockRule = regexp.MustCompile(`^(?:([01][0-9]|2[0-3]):([0-5][0-9])|(24):(00))$`)
	weekdays  = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} // in the order of time.Weekday
)

func (b *builder) readWindows(parent *node) []engine.Window {
	var list []engine.Window
	before := len(b.diags)
	for _, n := range parent.childBlocks("window") {
		list = append(list, b.readWindow(n))
	}
	if len(b.diags) > before {
		return nil
	}
	return list
}

func (b *builder) readWindow(n *node) engine.Window {
	r := b.newReader(n)
	w := engine.Window{Days: r.readDays("days"), FromMinutes: r.readClock("from"), ToMinutes: r.readClock("to"), Timezone: r.readText("timezone")}
	if w.FromMinutes == 24*60 {
		b.addError(n.args["from"].Expr.Range(), "from is not a time of day", `write "00:00"; the window opens on the days that are given`)
	}
	if w.FromMinutes == w.ToMinutes && w.FromMinutes >= 0 {
		b.addError(n.args["to"].Expr.Range(), "from and to are the same time", `for a whole day write from = "00:00" and to = "24:00"`)
	}
	if w.Timezone == "" {
		return w
	}
	location, err := time.LoadLocation(w.Timezone)
	if err != nil || location == time.Local {
		b.addError(n.args["timezone"].Expr.Range(), fmt.Sprintf("no time zone %q", w.Timezone), `it is a name such as "Europe/Berlin", or "UTC"`)
	}
	w.Location = location
	return w
}

// readClock returns a time of day in minutes after midnight, or -1 if it is missing or wrong.
func (r reader) readClock(name string) int {
	s := r.readText(name)
	if s == "" {
		return -1
	}
	m := clockRule.FindStringSubmatch(s)
	if m == nil {
		r.scope.loader.addError(r.node.args[name].Expr.Range(), name+" is not a time of day", `write hours and minutes with two digits each, such as "04:00" or "22:30"`)
		return -1
	}
	hours, _ := strconv.Atoi(m[1] + m[3])
	minutes, _ := strconv.Atoi(m[2] + m[4])
	return 60*hours + minutes
}

func (r reader) readDays(name string) []time.Weekday {
	a, list := r.node.args[name], []time.Weekday(nil)
	for _, word := range r.readOneOrMore(name) {
		first, last, isRange := strings.Cut(word, "-")
		from, to := slices.Index(weekdays, first), slices.Index(weekdays, last)
		if !isRange {
			to = from
		}
		if from < 0 || to < 0 {
			r.scope.loader.addError(a.Expr.Range(), fmt.Sprintf("unknown day %q", word), `write "mon", "tue", "wed", "thu", "fri", "sat", "sun", or a range such as "mon-fri"`)
			continue
		}
		for d := from; ; d = (d + 1) % 7 {
			if w := time.Weekday(d); !slices.Contains(list, w) {
				list = append(list, w)
			}
			if d == to {
				break
			}
		}
	}
	return list
}

func (b *builder) checkWindowLength(n *node, p engine.Pool) {
	if len(p.Windows) == 0 {
		if p.BatchTakes > 0 && len(n.childBlocks("window")) == 0 {
			b.addWarning("pool %q: batch_takes has no effect without a window", n.label)
		}
		return
	}
	// January and July have no change of clocks, which would make one night
	// longer.
	for _, month := range []time.Month{time.January, time.July} {
		now, next := window.MayBegin(p.Windows, time.Date(2026, month, 1, 0, 0, 0, 0, time.UTC), p.Takes())
		if now || !next.IsZero() {
			return
		}
	}
	at := n.at
	if a := n.args["batch_takes"]; a != nil {
		at = a.Expr.Range()
	}
	b.addError(at, fmt.Sprintf("no window of pool %q is long enough for a batch", n.label),
		fmt.Sprintf("a batch is expected to take %v; make a window longer, or batch_takes shorter", p.Takes()))
}
