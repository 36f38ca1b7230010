package scenario

import (
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/judge"
	"holdfast/cmd/holdfast-lab/internal/kubernetes"
)

// cmdJudges compares the forecast of drains with the API server and the kubectl of the bare cluster.
func cmdJudges(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "judges SETS")
	sets, err := strconv.Atoi(args[0])
	ts.Check(err)
	s := stageOf(ts)
	config, err := kubernetes.AdminConfig(s.Lab.KubernetesFolder(kubernetes.Bare), s.Lab.DialContext)
	ts.Check(err)
	programs, err := kubernetes.FindPrograms()
	ts.Check(err)
	j, err := judge.New(s.ctx, judge.Config{API: config, Kubectl: programs.Kubectl(), Folder: ts.MkAbs("."), Log: ts.Logf}, sets)
	ts.Check(err)
	defer j.Close()
	ts.Check(j.Make(s.ctx))
	counts, err := j.CompareAll(s.ctx)
	ts.Logf("%d sets: %v", sets, counts)
	ts.Check(err)
	for _, rare := range counts.FindRare() {
		ts.Fatalf("%s", rare)
	}
}
