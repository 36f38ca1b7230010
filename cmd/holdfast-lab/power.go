package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/disk"
	"holdfast/cmd/holdfast-lab/internal/lab"
)

func onHosts(open opener, cmd *cobra.Command, names []string, do func(*lab.Host) error) error {
	l, err := open(cmd)
	if err != nil {
		return err
	}
	for _, name := range names {
		h, err := l.Host(name)
		if err != nil {
			return err
		}
		if err := do(h); err != nil {
			return err
		}
	}
	return nil
}

func powerCommand(open opener) *cobra.Command {
	var lossy bool
	verbs := []string{"on", "off", "reset", "soft", "status"}
	cmd := &cobra.Command{
		Use:   "power on|off|reset|soft|status HOST…",
		Short: "Operate the power switch of hosts",
		Long: "Operate the power switch of hosts. off is a power cut; with --lossy everything that was not synced to the\n" +
			"disk is lost as well. soft is the power button: an orderly halt. reset is off and on.",
		Args:      cobra.MinimumNArgs(2),
		ValidArgs: verbs,
	}
	cmd.Flags().BoolVar(&lossy, "lossy", false, "with off: lose all unsynced data")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(verbs, args[0]) || lossy && args[0] != "off" {
			return fmt.Errorf("read arguments: power %s: want %v, and --lossy with off only", args[0], verbs)
		}
		verb := lab.Power(args[0])
		if lossy {
			verb = lab.Lossy
		}
		return onHosts(open, cmd, args[1:], func(h *lab.Host) error {
			if args[0] != "status" {
				return h.Power(cmd.Context(), verb)
			}
			state, err := h.State(cmd.Context())
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), h.Name, state)
			}
			return err
		})
	}
	return cmd
}

func mainsCommand(open opener) *cobra.Command {
	verbs := map[string]func(*lab.Host, context.Context) error{"cut": (*lab.Host).CutMains, "back": (*lab.Host).RestoreMains, "status": nil}
	return &cobra.Command{
		Use:   "mains cut|back|status HOST…",
		Short: "Cut and restore the mains of hosts, and show what their BMCs do then",
		Long: "Cut and restore the mains of hosts. cut is a power cut that also takes the BMC away. back restores the mains; then the\n" +
			"PowerRestorePolicy of the BMC decides whether the host is switched on. status shows the mains, the policy and the locator light.",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			do, ok := verbs[args[0]]
			if !ok {
				return fmt.Errorf("read arguments: mains %s: want cut, back or status", args[0])
			}
			return onHosts(open, cmd, args[1:], func(h *lab.Host) error {
				if do != nil {
					return do(h, cmd.Context())
				}
				c, err := h.Controller()
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s mains %s, PowerRestorePolicy %s, locator light %s\n", h.Name, onOff(!c.NoMains), c.RestorePolicy, onOff(c.Light))
				return err
			})
		},
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func switchCommands(open opener) []*cobra.Command {
	var cmds []*cobra.Command
	for _, c := range []struct {
		name, short string
		do          func(*lab.Host, *cobra.Command) error
	}{
		{"freeze", "Hang hosts: nothing runs any more, connections stay open", func(h *lab.Host, cmd *cobra.Command) error { return h.Freeze(cmd.Context()) }},
		{"thaw", "Let hung hosts go on", func(h *lab.Host, cmd *cobra.Command) error { return h.Thaw(cmd.Context()) }},
		{"cut", "Pull the network cable of hosts", func(h *lab.Host, cmd *cobra.Command) error { return h.Cut(cmd.Context()) }},
		{"heal", "Plug the network cable of hosts in again", func(h *lab.Host, cmd *cobra.Command) error { return h.Heal(cmd.Context()) }},
		{"fast", "Make slow disks fast again", func(h *lab.Host, cmd *cobra.Command) error { return h.Slow(cmd.Context(), disk.Speed{}) }},
	} {
		cmds = append(cmds, &cobra.Command{
			Use: c.name + " HOST…", Short: c.short, Args: cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return onHosts(open, cmd, args, func(h *lab.Host) error { return c.do(h, cmd) })
			},
		})
	}
	return cmds
}

func slowCommand(open opener) *cobra.Command {
	var speed disk.Speed
	cmd := &cobra.Command{
		Use:   "slow HOST… --bps N --iops N [--writes-only]",
		Short: "Make disks slow, for reads and writes alike, or only for writes",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if speed.BytesPerSecond == 0 && speed.IOPS == 0 {
				return fmt.Errorf("read flags: slow needs --bps, --iops or both")
			}
			return onHosts(open, cmd, args, func(h *lab.Host) error { return h.Slow(cmd.Context(), speed) })
		},
	}
	cmd.Flags().Uint64Var(&speed.BytesPerSecond, "bps", 0, "bytes per second")
	cmd.Flags().Uint64Var(&speed.IOPS, "iops", 0, "operations per second")
	cmd.Flags().BoolVar(&speed.WritesOnly, "writes-only", false, "do not limit reads")
	return cmd
}

func postCommand(open opener) *cobra.Command {
	return &cobra.Command{
		Use:   "post HOST… DURATION",
		Short: "Set how long the firmware of hosts takes before each boot, like 5m",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			d, err := time.ParseDuration(args[last])
			if err != nil || d < 0 {
				return fmt.Errorf("read arguments: %s is not a duration like 90s", args[last])
			}
			return onHosts(open, cmd, args[:last], func(h *lab.Host) error { return h.SetPost(cmd.Context(), d) })
		},
	}
}
