package database_test

import (
	"bytes"
	"regexp"
	"testing"

	"holdfast/engine/etcd/database"
)

// replaceText replaces matches of an expression by a text, filled up with blanks.
func replaceText(t *testing.T, file []byte, expression, text string) []byte {
	t.Helper()
	match := regexp.MustCompile(expression)
	if !match.Match(file) {
		t.Fatalf("there is no %s", expression)
	}
	return match.ReplaceAllFunc(file, func(old []byte) []byte {
		if len(text) > len(old) {
			t.Fatalf("%s is longer than %s", text, old)
		}
		return append([]byte(text), bytes.Repeat([]byte(" "), len(old)-len(text))...)
	})
}

// TestVotersAreThoseOfRaft tests that the configuration of raft decides which members vote. etcd 3.5.1 to 3.5.19 promote a learner
// there, but not in the list of members.
func TestVotersAreThoseOfRaft(t *testing.T) {
	t.Parallel()
	file, _ := readReal(t, 5)
	file = replaceText(t, file, `"clientURLs":\["[^"]*"\]`, `"isLearner":true`)
	read := func(file []byte) bool {
		got, err := database.Read(bytes.NewReader(file), int64(len(file)))
		if err != nil || len(got.Members) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		return got.Members[0].Learner
	}
	if read(file) {
		t.Error("a voter was taken for a learner")
	}
	if !read(replaceText(t, file, `"voters":\[\d+\],"auto_leave":false`, `"learners":[1]`)) {
		t.Error("a member that raft does not know is no learner although the list says so")
	}
	if !read(bytes.ReplaceAll(file, []byte("confState"), []byte("confOther"))) { // of an older etcd
		t.Error("a learner was taken for a voter")
	}
	plain, _ := readReal(t, 5)
	learner := regexp.MustCompile(`"voters":(\[\d+\]),"auto_leave":false`).ReplaceAll(plain, []byte(`"learners":$1,"autoleave":true`))
	if len(learner) != len(plain) || !read(learner) {
		t.Error("a learner of raft was taken for a voter")
	}
	damaged := replaceText(t, plain, `"voters":\[\d+\],"auto_leave":false`, `"voters":[x`)
	if got, err := database.Read(bytes.NewReader(damaged), int64(len(damaged))); err == nil {
		t.Errorf("%+v", got)
	}
}
