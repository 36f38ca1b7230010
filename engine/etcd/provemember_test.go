package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/pathtest"
	"holdfast/engine/shelltest"
)

// impostor answers in place of a member: it forwards requests to another member, and replaces only the ID in the answers.
type impostor struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedClusterServer
	pb.UnimplementedKVServer
	conn *grpc.ClientConn
	id   uint64
}

func (i *impostor) Status(ctx context.Context, r *pb.StatusRequest) (*pb.StatusResponse, error) {
	a, err := pb.NewMaintenanceClient(i.conn).Status(ctx, r)
	if err == nil {
		a.Header.MemberId = i.id
	}
	return a, err
}

func (i *impostor) MemberList(ctx context.Context, r *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	a, err := pb.NewClusterClient(i.conn).MemberList(ctx, r)
	if err == nil {
		a.Header.MemberId = i.id
	}
	return a, err
}

func (i *impostor) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	a, err := pb.NewKVClient(i.conn).Range(ctx, r)
	if err == nil {
		a.Header.MemberId = i.id
	}
	return a, err
}

// startImpostor starts an impostor with the ID of a member, which forwards to another member. It returns its address, and a function that
// ends it and its connections.
func startImpostor(t *testing.T, member, other *etcdtest.Member) (string, func()) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///member", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return other.Dial(ctx, "tcp", "127.0.0.1:2379") }))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	i, server := &impostor{conn: conn, id: member.ID()}, grpc.NewServer()
	pb.RegisterMaintenanceServer(server, i)
	pb.RegisterClusterServer(server, i)
	pb.RegisterKVServer(server, i)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		_ = conn.Close() // nothing was written to it
	})
	return listener.Addr().String(), server.Stop
}

// TestImpostor: without TLS, an account of a host can answer at the port of a dead member and claim to be this member. It counts
// as healthy only if root on the host sees that etcd listens there. If nobody can ask root, only the address of the host counts.
func TestImpostor(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{})
	victim := cluster.Members[2]
	address, end := startImpostor(t, victim, cluster.Members[0])
	cfg := newConfig(cluster)
	dial := cfg.Peers[2].Dial
	cfg.Peers[2].Dial = func(ctx context.Context, network, target string) (net.Conn, error) {
		if strings.HasPrefix(target, "127.0.0.1:") {
			target = address
		}
		return dial(ctx, network, target)
	}
	unproven := openCluster(t, cfg)
	gatherHealthy(t, unproven, 3)
	cfg.Peers = slices.Clone(cfg.Peers)
	seen := "read\nlistener 0 0100007F - -\n"
	for i := range cfg.Peers {
		cfg.Peers[i].RunScript = func(context.Context, string) (string, error) { return seen, nil }
	}
	cfg.Peers[2].RunScript = func(_ context.Context, script string) (string, error) {
		if !strings.HasPrefix(script, "port=2379\nunit=etcd-main.service\n") {
			return "", fmt.Errorf("%.60q", script)
		}
		return "read\naccount 997\nlistener 1000 0100007F - /user.slice/user-1000.slice/session-3.scope\nlistener 997 0100007F etcd /\n", nil
	}
	cfg.Unit = "etcd-main.service"
	proven := openCluster(t, cfg)
	victim.Stop()
	const only = "only the loopback address of its host answers"
	facts := gatherUntil(t, unproven, haveHealthy(2))
	if err := facts.MayLose("etcd-1", nil, false); err == nil || !strings.Contains(findMember(t, facts, "etcd-2").Problem, only) {
		t.Errorf("%v, %+v", err, facts)
	}
	facts = gatherUntil(t, proven, haveHealthy(2))
	const stranger = "a process of the account with UID 1000 listens on port 2379 (control group /user.slice/user-1000.slice/session-3.scope), and nothing shows that it is etcd"
	if err := facts.MayLose("etcd-1", nil, false); err == nil || !strings.Contains(findMember(t, facts, "etcd-2").Problem, stranger) {
		t.Errorf("%v, %+v", err, facts)
	}
	if _, err := proven.Revision(t.Context(), "etcd-2"); err == nil || !strings.Contains(err.Error(), stranger) { // nor are its data saved
		t.Errorf("%v", err)
	}
	cfg.Peers[2].RunScript = func(context.Context, string) (string, error) {
		end() // and its sockets are gone before root looks
		return "read\n", nil
	}
	facts = gatherUntil(t, openCluster(t, cfg), haveHealthy(2))
	if err := facts.MayLose("etcd-1", nil, false); err == nil || !strings.Contains(findMember(t, facts, "etcd-2").Problem, "no process of the host has port 2379") {
		t.Errorf("%v, %+v", err, facts)
	}
}

// TestListeners checks which processes may be a member.
func TestListeners(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seen, problem string
		err           error
	}{
		{seen: "listener 0 0100007F - -\n"},
		{seen: "listener 0 00000000000000000000000000000000 - -\n"},
		{seen: "listener 0 0000000000000000FFFF00000100007F - -\n"},
		{seen: "listener 0 7F000001 - -\n"},
		{seen: "listener 0 0000000000000000FFFF000000000000 - -\n"},
		{seen: "account 997\nlistener 997 00000000 - -\n"},
		{seen: "listener 1001 00000000 etcd /system.slice/kube-etcd.service\n"},
		{seen: "listener 1001 00000000 etcd /system.slice/etcd.service/libpod-payload-0a1b\n"},
		{seen: "listener 1001 00000000 - /machine.slice/libpod-0a1b.scope/container\n"},
		{seen: "listener 2000001 00000000 - /kubepods.slice/kubepods-burstable.slice/cri-containerd-0a.scope\n"},
		{seen: "listener 2000001 00000000 - /kubepods/burstable/pod1/0a\n"},
		{seen: "listener 1001 00000000 - /system.slice/docker-0a.scope\n"},
		{seen: "read\n"}, // forwarded to a container with a network of its own
		{seen: "account 997\nlistener 1000 00000000 - /user.slice/user-1000.slice/user@1000.service/user.slice/libpod-0a.scope\n", problem: "UID 1000"},
		{seen: "account 997\nlistener 48 00000000 - /system.slice/httpd.service\n", problem: "UID 48"},
		{seen: "account 997\nlistener 997 00000000 - -\nlistener 48 0200007F - -\n", problem: "UID 48"},
		{seen: "account 997\nlistener 48 00000000 - /kubepods-of-mine/machine.slice/libpod-0a.scope\n", problem: "UID 48"},
		{seen: "read\nlistener 0 0100000A - -\n", problem: "no process of the host listens on port 2379 there"},
		{seen: "read\nother\n", problem: "no process of the host listens on port 2379"}, // it has answered, and listens no more
		{seen: "account 997\n", problem: "no process of the host listens on port 2379"},
		{seen: "nonsense\nlistener x / - -\n", problem: "no process of the host listens on port 2379"},
		{err: errors.New("sudo asks for a password"), problem: "sudo asks for a password"},
	} {
		_, cfg := fakeCluster(t, "etcd-0")
		cfg.Peers[0].RunScript = func(context.Context, string) (string, error) { return c.seen, c.err }
		facts := openCluster(t, cfg).Gather(t.Context())
		if c.problem == "" {
			checkHealthy(t, facts, 1)
		} else if facts.CountHealthy() != 0 || !strings.Contains(fmt.Sprint(facts), c.problem) {
			t.Errorf("%q: %+v, want %q", c.seen, facts, c.problem)
		}
	}
}

func listenerScript(port int) string {
	text, err := os.ReadFile("sh/listener.sh")
	if err != nil {
		panic(err)
	}
	return "port=" + strconv.Itoa(port) + "\nunit=etcd.service\n" + string(text)
}

// TestListenerScript asks a real kernel who listens on a port.
func TestListenerScript(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	run := func() string {
		cmd := exec.CommandContext(t.Context(), pathtest.Shell(), "-c", listenerScript(port))
		cmd.Env = []string{"PATH=" + pathtest.Tools()}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if out := run(); !strings.Contains(out, fmt.Sprintf("listener %d 0100007F ", os.Getuid())) || strings.Count(out, "listener") != 1 || !strings.Contains(out, "read\n") {
		t.Errorf("%q", out)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if out := run(); strings.Contains(out, "listener") {
		t.Errorf("%q", out)
	}
}

// TestListenerSockets runs the script over the sockets of a host that exists only in files.
func TestListenerSockets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	proc := filepath.Join(dir, "proc")
	write := func(name, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o700)); err != nil { //nolint:gosec // a test
			t.Fatal(err)
		}
	}
	sockets := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	listen := func(pid int, uid, state, group, inode string, opens ...string) {
		sockets += "   0: 0100007F:094B 00000000:0000 " + state + " 00000000:00000000 00:00000000 00000000 " + uid + " 0 " + inode + " 1\n"
		at := filepath.Join(proc, strconv.Itoa(pid))
		write(filepath.Join(at, "cgroup"), "0::"+group+"\n")
		for i, target := range append([]string{"socket:[" + inode + "]"}, opens...) {
			if err := errors.Join(os.MkdirAll(filepath.Join(at, "fd"), 0o700), os.Symlink(target, filepath.Join(at, "fd", strconv.Itoa(9-i)))); err != nil {
				t.Fatal(err)
			}
		}
	}
	listen(20, "991", "0A", "/system.slice/kube-etcd.service", "55")
	listen(21, "992", "0A", "/system.slice/backup.service", "56")
	listen(22, "993", "0A", "/user.slice/user-993.slice/user@993.service/app.slice/etcd.service", "57")
	listen(23, "996", "0A", "/user.slice/user-996.slice/session-1.scope/etcd.service", "60")
	listen(24, "997", "0A", "/system.slice/etcd.service/libpod-payload-0a", "61")
	forged := "/tmp/x\n" + proc + "/99/fd:\nlrwx------ 1 0 0 64 Nov 26 16:00 3 -> socket:[58]"
	listen(98, "994", "0A", "/user.slice/user-994.slice", "58", forged, "/tmp/a b -> socket:[55]")
	listen(99, "995", "01", "/kubepods.slice/pod", "59")
	write(filepath.Join(proc, "net/tcp"), sockets)
	write(filepath.Join(dir, "bin/systemctl"), `#!/bin/sh
case $* in
*ControlGroup*user@*) echo /user.slice/user-993.slice/user@993.service ;;
*ControlGroup*) for name; do :; done; echo /system.slice/$name ;;
*kube-etcd.service) echo '{ path=/usr/bin/podman ; argv[]=/usr/bin/podman run quay.io/coreos/etcd:v3.6 --x ; }' ;;
*backup.service) echo '{ path=/usr/bin/backup ; argv[]=/usr/bin/backup --etcd /var/lib/etcd ; }' ;;
*MainPID*etcd-main.service) echo 77 ;;
esac
`)
	write(filepath.Join(proc, "77/status"), "Name:\tetcd\nUid:\t997\t997\t997\t997\n")
	script := strings.NewReplacer("unit=etcd.service", "unit=etcd-main.service", "/proc/", proc+"/").Replace(listenerScript(2379))
	cmd := exec.CommandContext(t.Context(), pathtest.Shell(), "-c", script)
	cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":" + pathtest.Tools()}
	out, err := cmd.Output()
	want := "account 997\nlistener 991 0100007F etcd /system.slice/kube-etcd.service\nlistener 992 0100007F - /system.slice/backup.service\n" +
		"listener 993 0100007F - /user.slice/user-993.slice/user@993.service/app.slice/etcd.service\n" +
		"listener 996 0100007F - /user.slice/user-996.slice/session-1.scope/etcd.service\nlistener 997 0100007F etcd /system.slice/etcd.service/libpod-payload-0a\nlistener 994 0100007F - /user.slice/user-994.slice\nother\nread\n"
	if err != nil || string(out) != want {
		t.Errorf("%v, got:\n%s\nwant:\n%s", err, out, want)
	}
}

func TestShellcheck(t *testing.T) {
	shelltest.Check(t, "listener", listenerScript(2379))
}
