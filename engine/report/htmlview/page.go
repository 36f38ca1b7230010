package htmlview

import "time"

// page has everything that the template shows. All texts are made printable in
// one place, before the template escapes them.
type page struct {
	Title, Run  string
	Notices     []string
	Facts       []fact
	Exit, State string // how the run ended, in a sentence, and one word for the styles
	Totals      string
	Pools       []poolRow
	Next        []string
	Command     string
	OpenSteps   []openStep
	Timeline    *timelinePart
	Members     *membersPart
	Clusters    []clusterPart
	Changes     *changesPart
	LeftOut     []exclusionRow
	Drift       []driftRow
	Refusals    []string
	Failures    []failureRow
	Warnings    []warningRow
	Waits       []waitRow
	More        moreRows
}

// moreRows has the numbers of rows that are left out of the parts of a page.
type moreRows struct{ Failures, Warnings, Waits, Members, Changes int }

type fact struct{ Name, Value string }

type poolRow struct{ Name, Updated, Others string }

// openStep is a step that has begun and not ended.
type openStep struct{ Subject, Step, Since string }

type timelinePart struct {
	Ticks  []tick
	Waits  []bar
	Groups []timelineGroup
	Folded bool // there are many hosts, so each group is closed
	Rows   int
}

type timelineGroup struct {
	Title, Text string
	Rows        []timelineRow
	Hidden      int // updated hosts without a row
}

type timelineRow struct {
	Host, Outcome, Text string
	Bars                []bar
	Failed              []string // positions of failures
}

type membersPart struct {
	Steps []memberRow
}

type memberRow struct{ At, Step, Subject, Took, Text string }

type clusterPart struct {
	Name, Health string
	TakenDown    []string
	Voters       *voterChart
	Outages      []outageRow
	Lost         string // changes of the number of voters that are not shown
	Members      []latencyRow
	Charts       []latencyChart
	MoreCharts   int // members whose charts are left out
	Staging      string
}

type voterChart struct {
	Path, QuorumY, Top string
	Quorum             int
	Ticks              []tick
}

type outageRow struct{ From, Until, Lasted, Healthy, Away string }

type latencyRow struct{ Host, Metric, Idle, Staging, Worst, At, Limit string }

type latencyChart struct {
	Host, Metric, Path, Top string
	LimitY, Limit           string // "": there was no limit
	Per                     int    // samples that a point stands for
	Stagings, Downs         []bar
	Ticks                   []tick
}

type changesPart struct {
	Groups []changeGroup
}

type changeGroup struct {
	Play, Pool, Title string
	Hosts             []string
	Outcomes          string
	Notes             []string
	Changes           []changeRow
	More              []changeRow // further changes, which are closed
}

type changeRow struct{ Verb, Resource, Before, After, Actions, Rule, Reason string }

type exclusionRow struct {
	Kind, Reason string
	Hosts        []string
}

type driftRow struct {
	Hosts   []string
	Changes string
}

type failureRow struct {
	Hosts                                                        []string
	Subject, Step, Cause, Became, Hint, At, Command, CommandNote string
	Outputs                                                      []failureOutput
	RolledBackEarlier                                            bool
}

type warningRow struct{ At, Text string }

type waitRow struct {
	Step, About, Result, Bad, Times, From, Until, Longest string
	Failed                                                bool
}

func fullTime(t time.Time) string {
	if t.IsZero() {
		return "not known"
	}
	return t.UTC().Format("Mon 2006-01-02 15:04:05 UTC")
}
