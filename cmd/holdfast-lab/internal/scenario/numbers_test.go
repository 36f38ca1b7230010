package scenario

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const restoreOutput = `HOST    ETCD
source: the data of etcd-0, revision 12, last written 2026-11-23 03:12:44 UTC
WOULD BE LOST: all writes after revision 12; no later revision is known
 1. preflight etcd-0
`

// newNumbers returns writes with the revisions 10, 11 …, one each second, and the keys of a
// cluster that has all of them.
func newNumbers(count int) ([]numberedWrite, map[string]int64) {
	var list []numberedWrite
	found := map[string]int64{}
	for i := range count {
		at := time.Date(2026, 11, 23, 3, 12, 42+i, 0, time.UTC)
		w := numberedWrite{key: fmt.Sprint("key", i), revision: int64(10 + i), began: at, ended: at.Add(time.Millisecond)}
		list, found[w.key] = append(list, w), w.revision
	}
	return list, found
}

func TestNumbersAgree(t *testing.T) {
	said, err := readSaidLoss(restoreOutput)
	if err != nil || said.revision != 12 || said.at.Second() != 44 {
		t.Fatalf("%+v, %v", said, err)
	}
	writes, found := newNumbers(5)
	delete(found, "key3")
	delete(found, "key4")
	loss, err := said.compareNumbers(writes, found)
	if err != nil || len(loss.kept) != 3 || len(loss.lost) != 2 || loss.lostTime() != time.Second {
		t.Fatalf("%s, %v", loss, err)
	}
	if err := (numbersDemand{lost: 2, within: time.Second, time: time.Second}).checkLoss(loss, said); err != nil {
		t.Error(err)
	}
	for _, d := range []numbersDemand{{lost: 3}, {within: time.Millisecond}, {time: time.Millisecond / 2}} {
		if d.checkLoss(loss, said) == nil {
			t.Errorf("%+v: a loss that is not as demanded is accepted", d)
		}
	}
}

func TestNumbersDisagree(t *testing.T) {
	for name, change := range map[string]struct {
		spoil func(writes []numberedWrite, found map[string]int64, said *saidLoss)
		want  string
	}{
		"missing":  {func(_ []numberedWrite, found map[string]int64, _ *saidLoss) { delete(found, "key2") }, "key2 with revision 12 is missing"},
		"revision": {func(_ []numberedWrite, found map[string]int64, _ *saidLoss) { found["key1"] = 13 }, "has 13"},
		"there":    {func(_ []numberedWrite, found map[string]int64, _ *saidLoss) { found["key3"] = 13 }, "key3 with revision 13 is there"},
		"nothing":  {func(_ []numberedWrite, found map[string]int64, said *saidLoss) { clear(found); said.revision = 1 }, "no write is kept"},
	} {
		said, err := readSaidLoss(restoreOutput)
		if err != nil {
			t.Fatal(err)
		}
		writes, found := newNumbers(5)
		delete(found, "key3")
		delete(found, "key4")
		change.spoil(writes, found, &said)
		if _, err := said.compareNumbers(writes, found); err == nil || !strings.Contains(err.Error(), change.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, output := range []string{"", strings.ReplaceAll(restoreOutput, "after revision 12", "after revision 13"), strings.ReplaceAll(restoreOutput, "all writes after", "at least")} {
		if said, err := readSaidLoss(output); err == nil {
			t.Errorf("%s: %s", output, said)
		}
	}
}
