package summary

import (
	"slices"
	"strings"

	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

// The flags that another run does not repeat.
const (
	savedPlan = "plan"
	limit     = "limit"
)

func hasFlag(c event.Command, name string) bool {
	return slices.ContainsFunc(c.Flags, func(f event.Flag) bool { return f.Name == name })
}

func withoutFlags(c event.Command, names ...string) event.Command {
	c.Flags = slices.DeleteFunc(slices.Clone(c.Flags), func(f event.Flag) bool { return slices.Contains(names, f.Name) })
	return c
}

func withSwitch(c event.Command, name string) event.Command {
	if !hasFlag(c, name) {
		c.Flags = append(slices.Clip(c.Flags), event.Flag{Name: name, Switch: true})
	}
	return c
}

func withLimit(c event.Command, hosts []string) event.Command {
	c = withoutFlags(c, limit)
	c.Flags = append(c.Flags, event.Flag{Name: limit, Short: "l", Value: limitPattern(hosts)})
	return c
}

// commandLine returns a command as a person types it, without secret values.
func commandLine(c event.Command) string {
	words := []string{"holdfast", c.Name}
	for _, arg := range c.Args {
		if !strings.Contains(arg, textutil.Hidden) {
			words = append(words, hostscript.Quote(arg))
		}
	}
	for _, f := range c.Flags {
		if strings.Contains(f.Value, textutil.Hidden) {
			continue
		}
		words = append(words, spellFlag(f))
		if !f.Switch {
			words = append(words, hostscript.Quote(f.Value))
		}
	}
	return strings.Join(words, " ")
}

func spellFlag(f event.Flag) string {
	if f.Short != "" {
		return "-" + f.Short
	}
	return "--" + f.Name
}

// secretFlags returns the flags and variables with secret values.
func secretFlags(c event.Command) []string {
	var names []string
	for _, f := range c.Flags {
		if !strings.Contains(f.Value, textutil.Hidden) {
			continue
		}
		text := "--" + f.Name
		if name, _, ok := strings.Cut(f.Value, "="); ok && !strings.Contains(name, textutil.Hidden) {
			text += " " + name
		}
		names = append(names, text)
	}
	return names
}
