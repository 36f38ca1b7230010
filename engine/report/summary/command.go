package summary

import (
	"slices"
	"strings"

	"holdfast/engine/hostscript"
	"holdfast/engine/report"
)

func commandLine(name string, args []string) string {
	words := []string{"holdfast"}
	if !slices.Contains(args, name) {
		words = append(words, name)
	}
	for _, arg := range args {
		words = append(words, hostscript.Quote(arg))
	}
	return strings.Join(words, " ")
}

func withoutFlag(args []string, long, short string) []string {
	rest := []string{}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == long, arg == short && short != "":
			i++
		case strings.HasPrefix(arg, long+"="), short != "" && strings.HasPrefix(arg, short) && !strings.HasPrefix(arg, "--"):
		default:
			rest = append(rest, arg)
		}
	}
	return rest
}

func withoutSwitch(args []string, long, short string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return arg == long || strings.HasPrefix(arg, long+"=") || arg == short && short != ""
	})
}

// planArguments returns the arguments of apply that plan also accepts.
func planArguments(args []string) []string {
	for _, f := range []string{"--plan", "--on-held", "--tags", "--skip-tags"} {
		args = withoutFlag(args, f, "")
	}
	args = withoutSwitch(args, "--yes", "-y")
	for _, f := range []string{"--step", "--best-effort", "--continue-over-incomplete"} {
		args = withoutSwitch(args, f, "")
	}
	valued := []string{"--inventory", "-i", "--var", "--var-file", "--limit", "-l", "--runs", "--forks", "-f"}
	rest := []string{}
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") { // the word apply, and a playbook
			continue
		}
		rest = append(rest, args[i])
		if slices.Contains(valued, args[i]) && i+1 < len(args) {
			i++
			rest = append(rest, args[i])
		}
	}
	return rest
}

// withoutHidden also returns the names of the flags and variables with secret values.
func withoutHidden(args []string) (rest, left []string) {
	for _, arg := range args {
		flag, value := "", arg
		if strings.HasPrefix(arg, "--") && strings.Contains(arg, "=") {
			flag, value, _ = strings.Cut(arg, "=")
		} else if n := len(rest); n > 0 && strings.HasPrefix(rest[n-1], "-") && !strings.HasPrefix(arg, "-") {
			flag = rest[n-1]
		}
		if !strings.Contains(value, report.Hidden) {
			rest = append(rest, arg)
			continue
		}
		if flag != "" && !strings.HasPrefix(arg, "--") {
			rest = rest[:len(rest)-1]
		}
		name, _, named := strings.Cut(value, "=")
		switch {
		case flag == "":
			flag = "an argument that is secret"
		case named && !strings.Contains(name, report.Hidden):
			flag += " " + name
		}
		left = append(left, flag)
	}
	return rest, left
}
