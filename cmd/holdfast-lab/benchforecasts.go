package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/demo"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/site"
	"holdfast/cmd/holdfast-lab/internal/spec"
	"holdfast/engine"
)

// forecastHosts are the hosts whose roll-outs are forecast.
const forecastHosts = `
pool "edge" {}
pool "worker" {}
host "edge-1" {
  pool = "edge"
}
hosts "worker" {
  range = "1-3"
  pool  = "worker"
}
`

// learningRolls is how many roll-outs at the beginning teach how long the hosts take. Most of them have no forecast.
const learningRolls = 4

const maxRolls = 1000

// forecastBench rolls a lab site again and again, and compares each forecast with the time that the roll-out took.
type forecastBench struct {
	lab      *lab.Lab
	out      io.Writer
	binary   string // path of holdfast
	runs     string // folder of the journals
	rolls    int
	firmware time.Duration
}

func benchForecastsCommand(open opener) *cobra.Command {
	b := &forecastBench{}
	var keep bool
	cmd := &cobra.Command{
		Use:   "forecasts",
		Short: "Compare forecasts with the time of roll-outs of four hosts",
		Long: "Roll out again and again: OS updates forth and back, and configurations with a reboot and without, of some or all\n" +
			"of four hosts, one after the other or side by side, with and without the soak of a canary. Print the table of\n" +
			"\"forecasts\". The first " + fmt.Sprint(learningRolls) + " roll-outs teach how long the hosts take, and come on top of --rolls.\n" +
			"Roll-outs that fail do not count. The machine should have nothing else to do: if its load changes, roll-outs take\n" +
			"another time than earlier ones. The lab is taken down before and afterwards.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().IntVar(&b.rolls, "rolls", 20, "number of roll-outs")
	cmd.Flags().DurationVar(&b.firmware, "firmware", 30*time.Second, "how long the firmware takes before each boot")
	cmd.Flags().StringVar(&b.runs, "results", "", "folder for the journals (default holdfast-forecasts-TIME); journals in it count as earlier runs")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the lab up")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if b.rolls < 1 || b.rolls > maxRolls {
			return fmt.Errorf("read flags: --rolls must be from 1 to %d, not %d", maxRolls, b.rolls)
		}
		b.out, b.runs = cmd.OutOrStdout(), cmp.Or(b.runs, "holdfast-forecasts-"+time.Now().Format("20060102-150405"))
		return b.runBench(cmd, open, keep)
	}
	return cmd
}

func (b *forecastBench) runBench(cmd *cobra.Command, open opener, keep bool) error {
	ctx := cmd.Context()
	l, release, err := openReserved(open, cmd)
	if err != nil {
		return err
	}
	defer release()
	b.lab = l
	dir, err := os.MkdirTemp("", "holdfast-")
	if err != nil {
		return fmt.Errorf("build holdfast: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	if b.binary, err = demo.Build(ctx, dir); err != nil {
		return err
	}
	if b.runs, err = filepath.Abs(b.runs); err != nil {
		return fmt.Errorf("read flags: %w", err)
	}
	hosts, err := spec.Parse("forecasts.hcl", []byte(forecastHosts))
	if err != nil {
		return err
	}
	if err := errors.Join(l.Down(ctx, false), os.MkdirAll(b.runs, 0o700)); err != nil {
		return err
	}
	err = l.Up(ctx, hosts, lab.Options{Post: b.firmware})
	if err == nil {
		err = errors.Join(b.rollAll(ctx), b.writeTable())
	}
	if keep {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	return errors.Join(err, l.Down(ctx, false))
}

func (b *forecastBench) writeTable() error {
	all, err := readAllForetold([]string{b.runs})
	if err != nil {
		return err
	}
	return writeForetold(b.out, all)
}

func (b *forecastBench) rollAll(ctx context.Context) error {
	first, second, err := b.lab.Commits()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(b.lab.Site(), site.Inventory))
	if err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	inventory := filepath.Join(b.lab.Site(), "forecasts.hcl")
	for i, r := range listForecastRolls(b.rolls + learningRolls) {
		if err := os.WriteFile(inventory, []byte(r.changeInventory(string(text), [2]string{first, second})), 0o600); err != nil {
			return fmt.Errorf("write inventory: %w", err)
		}
		began, load := time.Now(), readLoad()
		argv := []string{b.binary, "apply", "--yes", "--continue-over-incomplete", "-i", inventory, "--runs", b.runs}
		if r.limit != "" {
			argv = append(argv, "-l", r.limit)
		}
		out, err := b.lab.Exec(ctx, argv...)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		fmt.Fprintf(b.out, "%d of %d, %s: %s, load %s: %s\n", i+1, b.rolls+learningRolls, r, time.Since(began).Round(time.Second), load, lines[len(lines)-1])
		var exit *exec.ExitError
		if err != nil && !(errors.As(err, &exit) && exit.ExitCode() > int(engine.ExitUsage)) { // else the roll-out is not complete
			return fmt.Errorf("holdfast apply: %w: %s", err, out)
		}
	}
	return nil
}

// readLoad returns the load of the machine in the last minute.
func readLoad() string {
	text, _ := os.ReadFile("/proc/loadavg") // "": not known
	first, _, _ := strings.Cut(string(text), " ")
	return cmp.Or(first, "unknown")
}

// forecastRoll is one roll-out.
type forecastRoll struct {
	os        int           // 0 or 1: the OS that the hosts get
	file      int           // contents of a file
	action    string        // that the file needs
	soak      time.Duration // 0: no canary
	together, // workers side by side
	ordered bool // workers after edge
	limit string
}

// listForecastRolls returns roll-outs of different kinds, in an order that repeats. Each of them changes something.
func listForecastRolls(n int) []forecastRoll {
	limits := []string{"", "", "", "worker", "", "edge", ""}
	var all []forecastRoll
	var r forecastRoll
	for i := range n {
		switch i % 5 {
		case 0, 2, 3:
			r.os = 1 - r.os
		case 1:
			r.file, r.action = r.file+1, "reboot"
		case 4:
			r.file++
			if r.action = "reboot"; i%2 == 0 {
				r.action = "daemon-reload"
			}
		}
		r.soak = 0
		if i >= learningRolls && i%4 == 1 {
			r.soak = time.Duration(5+i) * time.Second
		}
		r.together, r.ordered = i%3 == 2, i%2 == 0
		if r.limit = limits[i%len(limits)]; i < learningRolls {
			r.limit = ""
		}
		all = append(all, r)
	}
	return all
}

func (r forecastRoll) String() string {
	return fmt.Sprintf("OS %d, file %d (%s), %s, soak %s, side by side %t, in order %t", r.os+1, r.file, r.action, cmp.Or(r.limit, "all hosts"), r.soak, r.together, r.ordered)
}

// changeInventory returns the inventory of the lab with the settings of the roll-out.
func (r forecastRoll) changeInventory(text string, commits [2]string) string {
	both := fmt.Sprintf("  config \"forecasts.bu\" {\n    content = <<E\nvariant: fcos\nversion: 1.5.0\nstorage:\n  files:\n    - path: /etc/forecasts\n      contents: {inline: \"%d\"}\nE\n  }\n"+
		"  policy {\n    path    = \"/etc/forecasts\"\n    actions = [%q]\n  }\n", r.file, cmp.Or(r.action, "none"))
	worker := both
	if r.soak > 0 {
		worker += fmt.Sprintf("  canary {\n    hosts = 1\n    soak  = %q\n  }\n", r.soak)
	}
	if r.together {
		worker += "  max_unavailable = 3\n"
	}
	if r.ordered {
		worker += "  after = [\"edge\"]\n"
	}
	return strings.NewReplacer(commits[0], commits[r.os], "pool \"edge\" {\n", "pool \"edge\" {\n"+both, "pool \"worker\" {\n", "pool \"worker\" {\n"+worker).Replace(text)
}
