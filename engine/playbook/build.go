package playbook

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
)

func buildCommand(_ *loader, a arguments, t *engine.Task) {
	t.Command = &engine.CommandTask{
		Command: a.textOf("cmd"), Timeout: typedValue[engine.Duration](a.values, "timeout"),
		Disrupts: a.isTrue("disrupts") || a.isTrue("drain"), Drain: a.isTrue("drain"),
	}
}

// unitSuffixes lists the unit types of systemd. A name with another suffix, or
// without one, means a service.
var (
	unitSuffixes = []string{".service", ".socket", ".target", ".timer", ".path", ".mount", ".automount", ".swap", ".slice", ".scope", ".device"}
	unitPattern  = regexp.MustCompile(`^[A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]*$`)
)

// isUnitName checks the length itself: {0,246} in the pattern would take a millisecond to compile at each start.
func isUnitName(s string) bool { return len(s) <= 247 && unitPattern.MatchString(s) }

func buildService(l *loader, a arguments, t *engine.Task) {
	unit := a.textOf("name")
	if a.has("name") && !isUnitName(unit) {
		l.addProblem(a.entries["name"].value, fmt.Sprintf("%q is not the name of a unit", unit), "write a name such as kubelet or etcd.service")
	}
	if !slices.ContainsFunc(unitSuffixes, func(ending string) bool { return strings.HasSuffix(unit, ending) }) {
		unit += ".service"
	}
	t.Service = &engine.ServiceTask{
		Unit: unit, Reload: a.textOf("state") == "reloaded", Drain: a.isTrue("drain"),
		Timeout: typedValue[engine.Duration](a.values, "timeout"),
	}
}

func buildWaitFor(l *loader, a arguments, t *engine.Task) {
	w := &engine.WaitForTask{
		Command: a.textOf("command"), Port: a.numberOf("port"), Path: a.textOf("path"), URL: a.textOf("url"),
		Timeout: typedValue[engine.Duration](a.values, "timeout"),
	}
	if a.has("path") && !strings.HasPrefix(w.Path, "/") {
		l.addProblem(a.entries["path"].value, "the path is not absolute", "begin it with /")
	}
	if a.has("url") && !isURL(w.URL) {
		l.addProblem(a.entries["url"].value, "the URL cannot be requested", "write http:// or https:// and a host, and a path if needed")
	}
	t.WaitFor = w
}

// isURL reports whether a URL can be requested after its placeholders are
// replaced.
func isURL(s string) bool {
	s = strings.NewReplacer("{host}", "h", "{address}", "h", "{pool}", "p").Replace(s)
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func buildPause(_ *loader, a arguments, t *engine.Task) {
	t.Pause = &engine.Pause{For: engine.Duration(time.Duration(a.numberOf("seconds"))*time.Second + time.Duration(a.numberOf("minutes"))*time.Minute)}
}

func defaultTaskName(t engine.Task) string {
	argument := ""
	switch {
	case t.Command != nil:
		argument = t.Command.Command
	case t.Service != nil:
		argument = t.Service.Unit
	case t.WaitFor != nil && t.WaitFor.Port != 0:
		argument = fmt.Sprintf("port %d", t.WaitFor.Port)
	case t.WaitFor != nil:
		argument = t.WaitFor.Command + t.WaitFor.Path + t.WaitFor.URL
	case t.Pause != nil:
		argument = t.Pause.For.String()
	}
	argument, more, _ := strings.Cut(strings.TrimSpace(argument), "\n")
	const longest = 60
	if runes := []rune(argument); len(runes) > longest {
		argument, more = string(runes[:longest]), "more"
	}
	if more != "" {
		argument += " …"
	}
	return strings.TrimSpace(t.Module + " " + argument)
}
