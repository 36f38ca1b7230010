package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/ansible"
	"holdfast/engine/draft"
	"holdfast/engine/inventory"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/textutil"
)

// inventoryWriter writes the first inventory of a site.
type inventoryWriter struct {
	*siteOpener
	ansible   string // file of an inventory of Ansible
	sshConfig string
	look      bool // ask the hosts for their OS and their etcd
}

func initCommand(o *siteOpener) *cobra.Command {
	w := inventoryWriter{siteOpener: o}
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first inventory, from an Ansible inventory or an ssh_config",
		Long: `init writes DIR/inventory.hcl, which holdfast validate accepts. Without a flag it is an
example. DIR is the current folder unless you name one, and may be new. init never
overwrites a file.

--ansible reads an inventory of Ansible, INI or YAML, with the files in group_vars and
host_vars beside it. Each host is in the pool of the first group of the file that lists the
host itself. --ssh-config takes the names of its Host lines; their settings stay there.

With --look, init asks the hosts over SSH, as root, and changes nothing on them. It writes
the OS that they run now with its driver, and a pool for each OS; the etcd clusters of
which they are members; and the hosts that run a kubelet. A plan right after it has
nothing to do. Host keys must be in known_hosts. Hosts that do not answer become comments.

Parts that were not taken over are named on standard error, with file and line: other
groups, variables, passwords, templates. init runs no plugin and no script of Ansible.
Without --look it decides nothing about etcd: the file has an example of a cluster, as a
comment.

Exit status 0: the inventory was written; 5: the inventory was written, and hosts did not
answer, or no host answered, and nothing was written.`,
		Args: expectArgs(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.json {
				return errors.New("init: there is no JSON; holdfast validate --json prints the inventory that init wrote")
			}
			if w.ansible != "" && w.sshConfig != "" {
				return errors.New("init: --ansible and --ssh-config exclude each other")
			}
			if w.look && w.ansible == "" && w.sshConfig == "" {
				return errors.New("init: --look needs hosts; name them with --ansible or --ssh-config")
			}
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			silent, err := w.writeInventory(cmd.Context(), dir)
			if err != nil {
				return fmt.Errorf("init: %w", err)
			}
			if silent > 0 {
				return exitWith(engine.ExitUnreachable)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&w.ansible, "ansible", "", "read the hosts from an inventory of Ansible: `FILE`, INI or YAML")
	f.StringVar(&w.sshConfig, "ssh-config", "", "read the hosts from an ssh_config: `FILE`, such as ~/.ssh/config")
	f.BoolVar(&w.look, "look", false, "ask the hosts for their OS, its driver, their etcd and their kubelet")
	return cmd
}

// writeInventory returns the number of hosts that did not answer.
func (w inventoryWriter) writeInventory(ctx context.Context, dir string) (silent int, err error) {
	file := filepath.Join(dir, "inventory.hcl")
	if err := checkNewInventory(dir); err != nil {
		return 0, err
	}
	s, err := w.readHosts()
	if err != nil {
		return 0, err
	}
	if s.Name, err = siteName(dir); err != nil {
		return 0, err
	}
	d, err := draft.Make(s)
	if err != nil {
		w.printRemarks(d.Remarks)
		return 0, err
	}
	if w.look {
		if err := w.lookAtHosts(ctx, &s); err != nil {
			return 0, err
		}
		if d, err = draft.Make(s); err != nil {
			return 0, err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	if err := writeNew(file, d.Text); err != nil {
		return 0, err
	}
	if err := w.checkWritten(file); err != nil {
		return 0, fmt.Errorf("these hosts make no valid inventory, so nothing was written: %w", errors.Join(err, os.Remove(file)))
	}
	w.printRemarks(d.Remarks)
	w.printResult(textutil.Printable(file), s, d)
	return d.Silent, nil
}

func (w inventoryWriter) printResult(file string, s draft.Site, d draft.Draft) {
	switch {
	case s.Source == "":
		fmt.Fprintf(w.stdout, "wrote %s, an example\nnext: write your hosts into it, then run holdfast validate -i %s\n", file, file)
	case w.look:
		var names []string
		for _, c := range s.Clusters {
			names = append(names, c.Name)
		}
		clusters := ""
		if len(names) > 0 {
			clusters = "; etcd clusters: " + strings.Join(names, ", ")
		}
		silent := ""
		if d.Silent > 0 {
			silent = fmt.Sprintf("; without an answer: %d", d.Silent)
		}
		fmt.Fprintf(w.stdout, "wrote %s; hosts: %d; pools: %s%s%s\n", file, d.Hosts, strings.Join(d.Pools, ", "), clusters, silent)
		fmt.Fprintf(w.stdout, "next: run holdfast plan -i %s; it has nothing to do until you set another OS or configurations\n", file)
	default:
		fmt.Fprintf(w.stdout, "wrote %s; hosts: %d; pools: %s\n", file, d.Hosts, strings.Join(d.Pools, ", "))
		fmt.Fprintf(w.stdout, "next: set the OS or the configurations of each pool, then run holdfast validate -i %s\n", file)
	}
}

func (w inventoryWriter) printRemarks(remarks []string) {
	for _, r := range remarks {
		fmt.Fprintln(w.stderr, "holdfast: not taken over:", r)
	}
}

// checkNewInventory refuses a folder that has an inventory.
func checkNewInventory(dir string) error {
	found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.hcl"))
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("there is an inventory: %s; name another folder", found[0])
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a folder; name a folder", dir)
	}
	return nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (w inventoryWriter) readHosts() (draft.Site, error) {
	switch {
	case w.ansible != "":
		dir, name := filepath.Split(w.ansible)
		inv, err := ansible.Read(ansible.Source{FS: w.newInputs().FS(filepath.Clean(dir)), Name: name, Root: dir})
		if err != nil {
			return draft.Site{}, err
		}
		s := draft.FromAnsible(inv)
		s.Source = w.ansible
		s.Remarks = append(listUnread(dir), s.Remarks...)
		return s, nil
	case w.sshConfig != "":
		return w.readSSHConfig()
	}
	return draft.Site{}, nil
}

// listUnread names the files around the folder of an Ansible inventory that Ansible may read, and init does not.
func listUnread(dir string) (remarks []string) {
	const (
		config    = "settings of Ansible are not read; if it has a user, a key, become or arguments of ssh, set them by hand"
		variables = "only the folder beside the inventory is read; if this one tells how to reach hosts, set that by hand"
	)
	var seen []fs.FileInfo
	for _, f := range []struct{ path, text string }{
		{filepath.Join(dir, "group_vars"), ""},
		{filepath.Join(dir, "host_vars"), ""},
		{filepath.Join(dir, "ansible.cfg"), config},
		{filepath.Join(dir, "..", "ansible.cfg"), config},
		{"ansible.cfg", config},
		{filepath.Join(dir, "..", "group_vars"), variables},
		{filepath.Join(dir, "..", "host_vars"), variables},
	} {
		info, err := os.Stat(f.path)
		if err != nil || slices.ContainsFunc(seen, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
			continue
		}
		seen = append(seen, info)
		if f.text != "" {
			remarks = append(remarks, textutil.Printable(f.path)+": "+f.text)
		}
	}
	return remarks
}

func (w inventoryWriter) readSSHConfig() (draft.Site, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return draft.Site{}, err
	}
	path, err := filepath.Abs(w.sshConfig)
	if err != nil {
		return draft.Site{}, err
	}
	config, err := sshconfig.Read(path, home, true, sshconfig.NewReader(w.newInputs().ReadFile, w.printWarning))
	if err != nil {
		return draft.Site{}, err
	}
	s := draft.FromSSH(config.ListAliases(home))
	s.Source = w.sshConfig
	if path != filepath.Join(home, ".ssh", "config") {
		s.SSHConfig = path
	}
	return s, nil
}

// siteName returns the name of the folder, as far as a site can have it.
func siteName(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if name := filepath.Base(path); inventory.IsName(name) {
		return name, nil
	}
	return "site", nil
}

// openerOf returns the opener of a new inventory, which has no variables.
func (w inventoryWriter) openerOf(file string) siteOpener {
	o := *w.siteOpener
	o.inventory, o.vars, o.varFiles = []string{file}, nil, nil
	return o
}

// checkWritten checks a new inventory as validate does.
func (w inventoryWriter) checkWritten(file string) error {
	o := w.openerOf(file)
	loaded, err := o.loadInventory()
	if err != nil {
		return err
	}
	return errors.Join(o.checkSSHConfig(loaded.Inventory.Hosts)...)
}

// writeNew writes a file that does not exist yet.
func writeNew(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; name another folder", file)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
