package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/pki"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// Identity distinguishes a host from the others. An installer would set it.
type Identity struct {
	Host spec.Host
	// Peers are all hosts of the lab, for /etc/hosts.
	Peers []spec.Host
	// HostKey is the host's SSH key in OpenSSH format, and HostKeyPublic its
	// public part. AuthorizedKey can log in as core.
	HostKey, HostKeyPublic, AuthorizedKey string
	// Etcd is the member of an etcd cluster on this host, or nil.
	Etcd *Member
}

// Member describes one member of an etcd cluster.
type Member struct {
	Cluster string
	Members []spec.Host
	CA      []byte
	Pair    pki.Pair
}

// identityFile is one file of an identity. For etc/…, Path is relative to the deployment;
// for var/…, to the state root.
type identityFile struct {
	Path    string      `json:"path"`
	Content string      `json:"content,omitempty"`
	Mode    os.FileMode `json:"mode"`
	// Owner is a user of the image; empty means root.
	Owner string `json:"owner,omitempty"`
	// Link makes the file a symbolic link to this target.
	Link string `json:"link,omitempty"`
}

// machineID returns the host's machine ID, which never changes.
func machineID(h spec.Host) string { return fmt.Sprintf("a%031x", 0x1ab00000+h.Index) }

func (id Identity) listFiles() []identityFile {
	hosts := "127.0.0.1 localhost\n127.0.1.1 " + id.Host.Name + "\n"
	for _, p := range id.Peers {
		if p.Name != id.Host.Name {
			hosts += p.Address() + " " + p.Name + "\n"
		}
	}
	files := []identityFile{
		{Path: "etc/hostname", Mode: 0o644, Content: id.Host.Name + "\n"},
		{Path: "etc/hosts", Mode: 0o644, Content: hosts},
		{Path: "etc/machine-id", Mode: 0o444, Content: machineID(id.Host) + "\n"},
		{Path: "etc/systemd/network/10-host0.network", Mode: 0o644, Content: "[Match]\nName=host0 en* eth*\n" +
			"[Network]\nAddress=" + id.Host.Address() + "/24\nLinkLocalAddressing=no\nLLDP=no\nIPv6AcceptRA=no\n"},
		{Path: "etc/ssh/ssh_host_ed25519_key", Mode: 0o600, Content: id.HostKey},
		{Path: "etc/ssh/ssh_host_ed25519_key.pub", Mode: 0o644, Content: id.HostKeyPublic},
		{Path: "var/home/core", Mode: os.ModeDir | 0o755, Owner: "core"},
		{Path: "var/home/core/.ssh", Mode: os.ModeDir | 0o700, Owner: "core"},
		{Path: "var/home/core/.ssh/authorized_keys", Mode: 0o600, Owner: "core", Content: id.AuthorizedKey},
		// Without this folder, the first boot logs only to /run.
		{Path: "var/log/journal", Mode: os.ModeDir | os.ModeSetgid | 0o755},
	}
	if id.Etcd != nil {
		files = append(files, id.etcdFiles()...)
	}
	return files
}

func (id Identity) etcdFiles() []identityFile {
	var initial []string
	for _, m := range id.Etcd.Members {
		initial = append(initial, m.Name+"=https://"+m.Address()+":2380")
	}
	ip := id.Host.Address()
	settings := strings.Join([]string{
		"ETCD_NAME=" + id.Host.Name,
		"ETCD_DATA_DIR=/var/lib/etcd/default",
		"ETCD_LISTEN_PEER_URLS=https://" + ip + ":2380",
		"ETCD_INITIAL_ADVERTISE_PEER_URLS=https://" + ip + ":2380",
		"ETCD_LISTEN_CLIENT_URLS=https://" + ip + ":2379,https://127.0.0.1:2379",
		"ETCD_ADVERTISE_CLIENT_URLS=https://" + ip + ":2379",
		"ETCD_INITIAL_CLUSTER=" + strings.Join(initial, ","),
		"ETCD_INITIAL_CLUSTER_STATE=new",
		"ETCD_INITIAL_CLUSTER_TOKEN=" + id.Etcd.Cluster,
		"ETCD_CLIENT_CERT_AUTH=true",
		"ETCD_TRUSTED_CA_FILE=/etc/etcd/ca.crt",
		"ETCD_CERT_FILE=/etc/etcd/peer.crt",
		"ETCD_KEY_FILE=/etc/etcd/peer.key",
		"ETCD_PEER_CLIENT_CERT_AUTH=true",
		"ETCD_PEER_TRUSTED_CA_FILE=/etc/etcd/ca.crt",
		"ETCD_PEER_CERT_FILE=/etc/etcd/peer.crt",
		"ETCD_PEER_KEY_FILE=/etc/etcd/peer.key",
	}, "\n") + "\n"
	return []identityFile{
		{Path: "etc/default/etcd", Mode: 0o644, Content: settings},
		{Path: "etc/etcd", Mode: os.ModeDir | 0o755},
		{Path: "etc/etcd/ca.crt", Mode: 0o644, Owner: "etcd", Content: string(id.Etcd.CA)},
		{Path: "etc/etcd/peer.crt", Mode: 0o644, Owner: "etcd", Content: string(id.Etcd.Pair.Cert)},
		{Path: "etc/etcd/peer.key", Mode: 0o600, Owner: "etcd", Content: string(id.Etcd.Pair.Key)},
		{Path: "etc/systemd/system/multi-user.target.wants/etcd.service", Link: "/usr/lib/systemd/system/etcd.service"},
	}
}

// installFiles writes files below a deployment and below the var of its state
// root, and syncs them. They must survive a power cut, like the work of an
// installer.
func installFiles(files []identityFile, deployment, stateroot string) error {
	passwd, err := os.ReadFile(filepath.Join(deployment, "etc/passwd"))
	if err != nil {
		return fmt.Errorf("write identity: %w", err)
	}
	for _, f := range files {
		root := deployment
		if strings.HasPrefix(f.Path, "var/") {
			root = stateroot
		}
		uid, gid, err := lookUpOwner(string(passwd), f.Owner)
		if err != nil {
			return err
		}
		if err := f.writeTo(filepath.Join(root, f.Path), uid, gid); err != nil {
			return fmt.Errorf("write identity: %w", err)
		}
	}
	return syncAll(deployment)
}

func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync identity: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("sync identity: %w", err)
	}
	return nil
}

func (f identityFile) writeTo(name string, uid, gid int) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if f.Link != "" {
		return os.Symlink(f.Link, name)
	}
	if f.Mode.IsDir() {
		if err := os.MkdirAll(name, 0o755); err != nil {
			return err
		}
	} else if err := os.WriteFile(name, []byte(f.Content), 0o600); err != nil {
		return err
	}
	if err := os.Chown(name, uid, gid); err != nil {
		return err
	}
	return os.Chmod(name, f.Mode)
}

func lookUpOwner(passwd, name string) (uid, gid int, err error) {
	if name == "" {
		return 0, 0, nil
	}
	for line := range strings.Lines(passwd) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 4 || fields[0] != name {
			continue
		}
		uid, err1 := strconv.Atoi(fields[2])
		gid, err2 := strconv.Atoi(fields[3])
		if err1 != nil || err2 != nil {
			return 0, 0, fmt.Errorf("write identity: user %s has no numeric IDs", name)
		}
		return uid, gid, nil
	}
	return 0, 0, fmt.Errorf("write identity: the image has no user %s", name)
}
