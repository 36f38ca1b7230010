package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/host"
	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/kubernetes"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

func upCommand(open opener) *cobra.Command {
	var (
		kind    string
		suite   suiteFlags
		disks   []string
		qemu    []string
		nodes   bool
		options lab.Options
	)
	cmd := &cobra.Command{
		Use:   "up [INVENTORY]",
		Short: "Bring the lab up: install packages, build images and boot hosts",
		Long: "Bring the lab up: install packages, build images and boot hosts, if they are missing. The hosts, pools and etcd clusters come from\n" +
			"INVENTORY; without one there are three etcd members and two workers.",
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&kind, "hosts", string(host.OnLoop), "how hosts keep their files: loop (own disk) or dir (many, small)")
	suite.addTo(cmd)
	cmd.Flags().StringVar(&options.Size, "size", "4G", "size of each disk")
	cmd.Flags().StringArrayVar(&disks, "disk", nil, "size of one disk, as HOST=SIZE; can be repeated")
	cmd.Flags().StringSliceVar(&qemu, "qemu", nil, "hosts that run in qemu, with a kernel of their own; they take minutes to boot")
	cmd.Flags().BoolVar(&options.BMC, "bmc", false, "serve Redfish for the hosts, and name their systems in the inventory of the site")
	cmd.Flags().BoolVar(&nodes, "kubernetes", false, "make the hosts nodes of a Kubernetes cluster; the first time on a machine, this builds Kubernetes, which takes about 20 minutes")
	cmd.Flags().DurationVar(&options.Post, "post", 0, "how long the firmware takes before each boot but the first")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		l, release, err := openReserved(open, cmd)
		if err != nil {
			return err
		}
		defer release()
		s, err := readSpec(args)
		if err != nil {
			return err
		}
		if err := markQemu(s, qemu); err != nil {
			return err
		}
		if s.Kubernetes, err = buildKubernetes(cmd, l, nodes); err != nil {
			return err
		}
		if options.Kind = host.Kind(kind); options.Kind != host.OnLoop && options.Kind != host.OnDir {
			return fmt.Errorf("read flags: --hosts %s is neither loop nor dir", kind)
		}
		if options.Suite, err = suite.parse(); err != nil {
			return err
		}
		if options.Disks, err = parseDisks(disks, s); err != nil {
			return err
		}
		start := time.Now()
		if err := l.Up(cmd.Context(), s, options); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%d hosts up after %.1f s\n", len(s.Hosts), time.Since(start).Seconds())
		fmt.Fprintln(cmd.OutOrStdout(), l.Site())
		return nil
	}
	return cmd
}

// buildKubernetes builds Kubernetes if the lab is to have it.
func buildKubernetes(cmd *cobra.Command, l *lab.Lab, wanted bool) (bool, error) {
	if !wanted {
		return false, nil
	}
	_, err := kubernetes.Build(cmd.Context(), l.Logf)
	return true, err
}

// suiteFlags are the flags that choose the suite of the hosts.
type suiteFlags struct {
	name      string
	composefs bool
}

func (f *suiteFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "suite", string(image.DefaultSuite), "Debian suite of the hosts: bookworm (12), trixie (13) or testing; each has an image of its own. trixie-kernel and testing-composefs-kernel are for hosts in qemu")
	cmd.Flags().BoolVar(&f.composefs, "composefs", false, "mount the root of hosts of testing with composefs, as soft reboots need it")
}

func (f *suiteFlags) parse() (image.Suite, error) {
	s, err := image.ParseSuite(f.name)
	if err != nil {
		return "", fmt.Errorf("read flags: --%w", err)
	}
	if f.composefs {
		if s, err = s.WithComposefs(); err != nil {
			return "", fmt.Errorf("read flags: --%w", err)
		}
	}
	return s, nil
}

func readSpec(args []string) (spec.Spec, error) {
	if len(args) == 0 {
		return spec.Parse("default.hcl", spec.DefaultHCL)
	}
	src, err := os.ReadFile(args[0])
	if err != nil {
		return spec.Spec{}, fmt.Errorf("read inventory: %w", err)
	}
	return spec.Parse(args[0], src)
}

func markQemu(s spec.Spec, names []string) error {
	for _, name := range names {
		i := slices.IndexFunc(s.Hosts, func(h spec.Host) bool { return h.Name == name })
		if i < 0 {
			return fmt.Errorf("read flags: --qemu %s is not a host of the inventory", name)
		}
		s.Hosts[i].Machine = spec.Qemu
	}
	return nil
}

func parseDisks(flags []string, s spec.Spec) (map[string]string, error) {
	sizes := map[string]string{}
	for _, f := range flags {
		name, size, ok := strings.Cut(f, "=")
		if _, known := s.Host(name); !ok || !known || size == "" {
			return nil, fmt.Errorf("read flags: --disk %s is not HOST=SIZE of a host in the inventory", f)
		}
		sizes[name] = size
	}
	return sizes, nil
}

func downCommand(open opener) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove all hosts and their network; the image stays for the next up",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, release, err := openReserved(open, cmd)
			if err != nil {
				return err
			}
			defer release()
			return l.Down(cmd.Context(), all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove the image, too")
	return cmd
}

func resetCommand(open opener) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "reset HOST…|--all",
		Short: "Put hosts back to their first boot: version 1.0, empty etcd, no changed file",
		Long: "Put hosts back to their first boot: version 1.0, empty etcd, no changed file.\n" +
			"Members of one etcd cluster are reset together.",
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return fmt.Errorf("read arguments: name hosts, or say --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			l, release, err := openReserved(open, cmd)
			if err != nil {
				return err
			}
			defer release()
			return l.Reset(cmd.Context(), args...)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "reset all hosts")
	return cmd
}

func inventoryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inventory",
		Short: "Print the inventory that up uses without one, to start your own from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(spec.DefaultHCL)
			return err
		},
	}
}
