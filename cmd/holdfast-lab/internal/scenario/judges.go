package scenario

import (
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/judge"
	"holdfast/cmd/holdfast-lab/internal/kubernetes"
)

// controlledSets is the number of the first set whose budgets the controller manager controls.
const controlledSets = 10_000

// cmdJudges compares the forecast of drains with the API server and the kubectl of the bare cluster.
func cmdJudges(ts *testscript.TestScript, neg bool, args []string) {
	controlled := len(args) > 0 && args[0] == "controlled"
	if controlled {
		args = args[1:]
	}
	if neg || len(args) != 1 {
		ts.Fatalf("usage: judges [controlled] SETS")
	}
	sets, err := strconv.Atoi(args[0])
	ts.Check(err)
	s := stageOf(ts)
	config, err := kubernetes.AdminConfig(s.Lab.KubernetesFolder(kubernetes.Bare), s.Lab.DialContext)
	ts.Check(err)
	programs, err := kubernetes.FindPrograms()
	ts.Check(err)
	c, first := judge.Config{API: config, Kubectl: programs.Kubectl(), Folder: ts.MkAbs("."), Log: ts.Logf}, 0
	if controlled {
		c.Manager, first = programs.Manager(), controlledSets
	}
	j, err := judge.New(s.ctx, c, first, sets)
	ts.Check(err)
	defer j.Close()
	ts.Check(j.Make(s.ctx))
	counts, err := j.CompareAll(s.ctx)
	ts.Logf("%d sets: %v", sets, counts)
	ts.Check(err)
	for _, rare := range j.FindRare(counts) {
		ts.Fatalf("%s", rare)
	}
}
