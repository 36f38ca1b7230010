package htmlview

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scale maps the times of a run to percents of the width of a drawing.
type scale struct{ from, to time.Time }

func (s scale) length() time.Duration { return max(s.to.Sub(s.from), time.Second) }

func (s scale) position(t time.Time) float64 {
	x := 100 * float64(t.Sub(s.from)) / float64(s.length())
	return min(max(x, 0), 100)
}

func formatNumber(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
}

// bar is a rectangle of a drawing, in percents of its width.
type bar struct{ Class, X, Width string }

// leastWidth keeps a short time visible.
const leastWidth = 0.3

func (s scale) bar(class string, from, to time.Time) bar {
	x := s.position(from)
	width := max(s.position(to)-x, leastWidth)
	return bar{class, formatNumber(min(x, 100-width)), formatNumber(width)}
}

// tick is a mark of the axis of time.
type tick struct{ X, Anchor, Text string }

// ticks returns at most seven marks at round times.
func (s scale) ticks() []tick {
	steps := []time.Duration{
		time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
		20 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	}
	step := s.length() / 5
	for _, round := range steps {
		if s.length()/round < 6 {
			step = round
			break
		}
	}
	format := "15:04"
	switch {
	case step < time.Minute:
		format = time.TimeOnly
	case s.length() > 24*time.Hour:
		format = "Mon 15:04"
	}
	var list []tick
	for t := s.from.Truncate(step); !t.After(s.to) && len(list) < 7; t = t.Add(step) {
		if t.Before(s.from) {
			continue
		}
		x := s.position(t)
		anchor := "middle"
		switch {
		case x < 6:
			anchor = "start"
		case x > 94:
			anchor = "end"
		}
		list = append(list, tick{formatNumber(x), anchor, t.UTC().Format(format)})
	}
	return list
}

// The size of the coordinates of a chart, which is stretched to the page.
const chartWidth, chartHeight = 1000, 100

// chartPoints is the number of points of a line.
const chartPoints = 400

// widestGap is the longest time between two samples that a line connects.
const widestGap = 45 * time.Second

// linePath returns the path of a line through points. highest is the value at the top.
func (s scale) linePath(points []point, top float64) string {
	var b strings.Builder
	var last time.Time
	for _, p := range highest(points, chartPoints) {
		x, y := s.position(p.at)*chartWidth/100, chartHeight*(1-p.value/top)
		gap := max(widestGap, 3*s.length()/chartPoints)
		if last.IsZero() || p.at.Sub(last) > gap {
			fmt.Fprintf(&b, "M%.0f %.1fh2", x, y)
		} else {
			fmt.Fprintf(&b, "L%.0f %.1f", x, y)
		}
		last = p.at
	}
	return b.String()
}

// stepPath returns the path of a number that stays the same between two points, with a gap where it is not known. The last
// point lasts until end.
func (s scale) stepPath(points []voterPoint, most int, end time.Time) string {
	var b strings.Builder
	drawing := false
	for _, p := range points {
		x, y := s.position(p.at)*chartWidth/100, chartHeight*(1-float64(p.healthy)/float64(most))
		switch {
		case p.unknown && drawing:
			fmt.Fprintf(&b, "H%.1f", x)
		case p.unknown:
		case drawing:
			fmt.Fprintf(&b, "H%.1fV%.1f", x, y)
		default:
			fmt.Fprintf(&b, "M%.1f %.1f", x, y)
		}
		drawing = !p.unknown
	}
	if drawing {
		fmt.Fprintf(&b, "H%s", formatNumber(s.position(end)*chartWidth/100))
	}
	return b.String()
}

// clock formats times of a run, with the day of the week if the run is long.
func (s scale) clock(t time.Time) string {
	if s.length() > 24*time.Hour {
		return t.UTC().Format("Mon 15:04:05")
	}
	return t.UTC().Format(time.TimeOnly)
}
