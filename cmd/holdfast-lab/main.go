// Command holdfast-lab runs real test hosts on one machine, with systemd, sshd, a
// booted ostree deployment and, on members, etcd with TLS. Their power switches,
// cables and disks can fail.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/lab"
)

func main() {
	ctx, stop := catchSignals(context.Background())
	defer stop()
	err := rootCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	stop()
	var status exitStatus
	if errors.As(err, &status) {
		os.Exit(int(status))
	}
	fmt.Fprintln(os.Stderr, "holdfast-lab:", err)
	os.Exit(1)
}

// catchSignals returns a context that ends at Ctrl-C, at SIGTERM, and when the terminal is lost.
func catchSignals(parent context.Context) (ctx context.Context, stop func()) {
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // under nohup it is ignored
		ending = append(ending, syscall.SIGHUP)
	}
	return signal.NotifyContext(parent, ending...)
}

// exitStatus is the exit status of a command that was run on behalf of the
// caller.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// opener opens the lab that the flags name.
type opener func(cmd *cobra.Command) (*lab.Lab, error)

// openReserved opens the lab for a command that makes, changes or removes hosts, and keeps other such commands away
// until release is called.
func openReserved(open opener, cmd *cobra.Command) (l *lab.Lab, release func(), err error) {
	if l, err = open(cmd); err != nil {
		return nil, nil, err
	}
	if os.Geteuid() != 0 {
		return nil, nil, fmt.Errorf("%s: this needs root", cmd.Name())
	}
	release, err = l.Reserve(cmd.Name())
	return l, release, err
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "holdfast-lab",
		Short:         "Real test hosts on one machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	dir := lab.DefaultDir
	if d := os.Getenv("HOLDFAST_LAB_DIR"); d != "" {
		dir = d
	}
	root.PersistentFlags().StringVar(&dir, "dir", dir, "folder that holds the lab (HOLDFAST_LAB_DIR)")
	open := func(cmd *cobra.Command) (*lab.Lab, error) {
		return lab.Open(dir, func(format string, args ...any) {
			fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
		})
	}
	root.AddCommand(
		upCommand(open), downCommand(open), statusCommand(open), resetCommand(open), commitCommand(open),
		sshCommand(open), execCommand(open), serveCommand(open), bmcCommand(open), kubernetesCommand(open), superviseCommand(), repositoryCommand(open),
		demoCommand(open), testCommand(open), powerCommand(open), mainsCommand(open), postCommand(open), slowCommand(open), inventoryCommand(), probeCommand(open), compareCommand(open), forecastsCommand(), benchCommand(open),
	)
	root.AddCommand(switchCommands(open)...)
	return root
}
