package hoststate

import (
	_ "embed" // for the script
	"strconv"
	"strings"
	"time"
)

//go:embed sh/starts.sh
var startsScript string

// A service is settled once it has run for settledAfter, or for restartedAfter if
// systemd has started it again. A daemon that cannot use its configuration may run for a
// moment, again and again, and never be in the state failed.
const restartedAfter = 30 * time.Second

// unsettledServices returns the services that have only just started, or that wait to be
// started again. It reads the output of systemctl show, which has a paragraph for each
// service, and the uptime.
func unsettledServices(text string) []string {
	var services []map[string]string
	up := time.Duration(0)
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		service := parseProperties(paragraph)
		if s, err := strconv.ParseFloat(service["Uptime"], 64); err == nil {
			up = time.Duration(s * float64(time.Second))
		}
		services = append(services, service)
	}
	var names []string
	for _, s := range services {
		waits := strings.HasPrefix(s["SubState"], "auto-restart")
		if waits || s["SubState"] == "running" && !isSettled(s, up) {
			names = append(names, s["Id"])
		}
	}
	return names
}

// isSettled reports whether a running service has run for long enough. If its age is not
// known, as in a container with an uptime of its own, the state alone decides.
func isSettled(service map[string]string, up time.Duration) bool {
	began, err := strconv.ParseInt(service["ActiveEnterTimestampMonotonic"], 10, 64)
	age := up - time.Duration(began)*time.Microsecond
	switch n := service["NRestarts"]; {
	case err != nil || began == 0 || age < 0:
		return true
	case n != "" && n != "0":
		return age >= restartedAfter
	}
	return age >= settledAfter
}

func parseProperties(text string) map[string]string {
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = value
		}
	}
	return values
}
