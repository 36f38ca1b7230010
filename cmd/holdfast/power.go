package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"
	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/clock"
	"holdfast/engine/input"
	"holdfast/engine/maintenance"
	"holdfast/engine/power"
	"holdfast/engine/redfish"
	"holdfast/engine/report"
	"holdfast/engine/report/tables"
)

func powerCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "power",
		Short: "Show and switch the power of hosts, through their BMCs or your commands",
		Long: `power uses the bmc block of a host, which speaks Redfish, or the commands of its
power block. docs/maintenance.md describes both.`,
	}
	requireSubcommand(cmd)
	cmd.AddCommand(&cobra.Command{
		Use:   "status [HOST…]",
		Short: "Show the power of hosts, as their BMCs or your commands report it",
		Args:  expectArgs(0, -1),
		RunE:  func(cmd *cobra.Command, args []string) error { return showPower(cmd.Context(), a, args) },
	}, powerSwitch{engine.PowerHostsOn, "on HOST…", "Switch hosts on", `on switches hosts on, and waits until the BMC reports it. A host that somebody
else holds stays off, unless --force is given. For a host that does not answer, the
hold with which this bastion last saw it counts. If there is none, find out who
works on the host, and use --force.`}.command(a),
		powerSwitch{engine.PowerHostsOff, "off HOST…", "Shut down hosts that you hold, and switch them off", `off shuts down a host that you hold over SSH, and another one through its BMC. If the
host is not off after --shutdown-timeout, its power is cut. The host must be held by
you, so that no run works on it, or --force must be given. Only resets that the BMC
offers are used.`}.command(a),
		powerSwitch{engine.ResetHosts, "reset HOST…", "Restart hosts that you hold, without a shutdown", `reset restarts a host that does not react any more, without a shutdown. The host
must be on, and held by you, or --force must be given.`}.command(a))
	return cmd
}

// powerSwitch is a command that switches the power of hosts.
type powerSwitch struct {
	action           engine.MaintenanceAction
	use, short, long string
}

func (p powerSwitch) command(a *app) *cobra.Command {
	var force bool
	var shutdown string
	cmd := &cobra.Command{
		Use: p.use, Short: p.short, Long: p.long,
		Args: expectArgs(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			graceful := engine.Duration(0)
			if p.action == engine.PowerHostsOff {
				var err error
				if graceful, err = parseShutdown("power off", shutdown); err != nil {
					return err
				}
			}
			return a.maintain(cmd.Context(), args, func(s *site) (maintenance.Request, error) {
				return maintenance.Request{Action: p.action, Force: force, Graceful: graceful}, checkControlled(s.selectedHosts())
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "switch the power although you do not hold the host, or its hold is not known")
	if p.action == engine.PowerHostsOff {
		cmd.Flags().StringVar(&shutdown, "shutdown-timeout", "5m", "`DURATION` after which the power of a host that has not shut down is cut")
	}
	return cmd
}

func parseShutdown(command, s string) (engine.Duration, error) {
	d, err := engine.ParseDuration(s)
	if err != nil || d <= 0 || time.Duration(d) > time.Hour {
		return 0, fmt.Errorf("%s: --shutdown-timeout %q is not a duration of at most 1h, such as 5m", command, s)
	}
	return d, nil
}

// checkControlled returns an error that names all hosts whose power nothing can switch.
func checkControlled(hosts []engine.Host) error {
	var errs []error
	for _, h := range hosts {
		if h.BMC == nil && h.Power == nil {
			errs = append(errs, fmt.Errorf("%s has neither a bmc nor a power block in the inventory; add one to it or to its pool", h.Name))
		}
	}
	return errors.Join(errs...)
}

// hostPower switches the power of the hosts of a site.
type hostPower struct {
	opener *siteOpener
	site   *site
}

// Read implements rollout.Power.
func (p hostPower) Read(ctx context.Context, host engine.Host) (engine.PowerState, error) {
	c, err := p.controllerOf(ctx, host)
	if err != nil {
		return engine.PowerState{}, err
	}
	s, err := c.State(ctx)
	return engine.PowerState{Power: s.Power, PowerKeeping: engine.PowerKeeping{RestorePolicy: s.RestorePolicy, Light: s.Light, Indicator: s.Indicator}}, err
}

// Keep implements rollout.Power.
func (p hostPower) Keep(ctx context.Context, host engine.Host, k engine.PowerKeeping) error {
	c, err := p.controllerOf(ctx, host)
	if err == nil && k.RestorePolicy != "" {
		err = c.SetRestorePolicy(ctx, k.RestorePolicy)
	}
	if err == nil && k.Light != nil {
		err = c.SetLight(ctx, *k.Light)
	}
	if err == nil && k.Indicator != "" {
		err = c.SetIndicator(ctx, k.Indicator)
	}
	return err
}

// Switch implements rollout.Power.
func (p hostPower) Switch(ctx context.Context, host engine.Host, s engine.SwitchPower, before func(string) error) error {
	c, err := p.controllerOf(ctx, host)
	if err != nil {
		return &engine.Failure{Kind: engine.CannotFailure, Cause: err.Error(), NotStarted: true}
	}
	err = power.Switcher{Clock: clock.Real{}, Before: before}.Switch(ctx, c, s)
	if known := new(engine.Failure); err != nil && !errors.As(err, &known) {
		var answer *redfish.Error
		unsure := errors.As(err, &answer) && answer.MaybeDone
		return &engine.Failure{Kind: engine.CannotFailure, Cause: err.Error(), NotStarted: s.To == engine.PowerReset && !unsure}
	}
	return err
}

func (p hostPower) controllerOf(ctx context.Context, h engine.Host) (power.Controller, error) {
	if h.BMC == nil {
		return bastion.PowerCommands{Commands: bastion.Commands{Dir: p.site.loaded.Dir, Secrets: p.site.secrets}, Host: h}, nil
	}
	files := p.opener.newInputs()
	c := redfish.Config{Address: h.BMC.Address, System: h.BMC.System, Fingerprint: h.BMC.Fingerprint, User: h.BMC.User}
	if h.BMC.CA != "" {
		text, err := files.ReadFile(h.BMC.CA)
		if err != nil {
			return nil, fmt.Errorf("BMC %s: read ca of the bmc block: %w", h.BMC.Address, err)
		}
		if c.Roots = x509.NewCertPool(); !c.Roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("BMC %s: %s has no certificate in PEM; correct ca in the bmc block", h.BMC.Address, h.BMC.CA)
		}
	}
	var err error
	if c.Password, err = p.passwordOf(ctx, *h.BMC, files); err != nil {
		return nil, fmt.Errorf("BMC %s: %w", h.BMC.Address, err)
	}
	return redfish.New(c), nil
}

// passwordOf returns the first line of the file or of the output of the command.
func (p hostPower) passwordOf(ctx context.Context, b engine.BMC, files input.Files) (password []byte, err error) {
	if b.PasswordFile != "" {
		password, err = files.ReadFile(b.PasswordFile)
	} else {
		password, err = bastion.Commands{Dir: p.site.loaded.Dir, Secrets: p.site.secrets}.ReadPassword(ctx, b.PasswordCommand)
	}
	if err != nil {
		return nil, fmt.Errorf("read the password: %w", err)
	}
	line, _, _ := bytes.Cut(password, []byte("\n"))
	if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
		return nil, errors.New("the password is empty; correct password_file or password_command in the bmc block")
	}
	return line, nil
}

// powerForks is the number of BMCs that are asked at the same time.
const powerForks = 64

func showPower(ctx context.Context, a *app, names []string) error {
	s, err := a.openSite(ctx, names)
	if err != nil {
		return err
	}
	defer s.close()
	hosts := s.selectedHosts()
	if len(names) > 0 {
		if err := checkControlled(hosts); err != nil {
			return err
		}
	}
	list := make([]tables.HostPower, len(hosts))
	code := engine.ExitOK
	var mu sync.Mutex
	workers := pool.New().WithMaxGoroutines(cmp.Or(a.forks, powerForks))
	for i, h := range hosts {
		list[i].Host = h.Name
		if checkControlled(hosts[i:i+1]) != nil {
			list[i].Problem = "it has neither a bmc nor a power block"
			continue
		}
		workers.Go(func() {
			if err := readPower(ctx, hostPower{&a.siteOpener, s}, h, &list[i]); err != nil {
				list[i].Problem = err.Error()
				mu.Lock()
				defer mu.Unlock()
				code = code.Worse(exitOfPower(err))
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	list = report.HideSensitive(list, s.loaded.Sensitive)
	if a.json {
		err = a.printJSON(list)
	} else {
		err = tables.WritePower(a.tableWriter(), list)
	}
	if err != nil {
		return err
	}
	return exitWith(code)
}

func readPower(ctx context.Context, p hostPower, h engine.Host, into *tables.HostPower) error {
	c, err := p.controllerOf(ctx, h)
	if err == nil {
		into.State, err = c.State(ctx)
	}
	return err
}

func exitOfPower(err error) engine.ExitCode {
	var e *redfish.Error
	if errors.As(err, &e) && e.Kind == redfish.Unreachable {
		return engine.ExitUnreachable
	}
	return engine.ExitFailed
}
