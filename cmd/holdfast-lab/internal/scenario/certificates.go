package scenario

import (
	"encoding/base64"
	"errors"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/pki"
)

func cmdAuthority(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "authority CLUSTER NAME")
	s := stageOf(ts)
	var ca pki.Pair
	var err error
	if args[0] == args[1] {
		ca, err = s.Lab.Authority(args[0])
	} else {
		ca, err = s.Lab.AddAuthority(args[1])
	}
	ts.Check(err)
	path := ts.MkAbs("site/" + args[1])
	ts.Check(errors.Join(os.WriteFile(path+".crt", ca.Cert, 0o600), os.WriteFile(path+".key", ca.Key, 0o600)))
}

func cmdRedate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: redate HOST NAME FROM TO ROLE…")
	}
	s := stageOf(ts)
	h := s.findHost(ts, args[0])
	path := "site/" + args[1]
	ca := pki.Pair{Cert: []byte(ts.ReadFile(path + ".crt")), Key: []byte(ts.ReadFile(path + ".key"))}
	from, err1 := time.ParseDuration(args[2])
	to, err2 := time.ParseDuration(args[3])
	ts.Check(errors.Join(err1, err2))
	script := "cd /etc/etcd/pki/current/\n"
	for _, role := range args[4:] {
		cert, err := h.Output(s.ctx, "sudo cat /etc/etcd/pki/"+role+".crt")
		ts.Check(err)
		redated, err := ca.Redate([]byte(cert), time.Now().Add(from), time.Now().Add(to))
		ts.Check(err)
		script += "echo " + base64.StdEncoding.EncodeToString(redated) + " | base64 -d >new\nchmod 0644 new\nmv new " + role + ".crt\n"
	}
	ts.Check(s.asRoot(h, script+"sha256sum $(cut -c 67- sums) >sums.new\nmv sums.new sums\n"))
}
