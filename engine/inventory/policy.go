package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"holdfast/engine"
	"holdfast/engine/rules"
	"holdfast/engine/textutil"
)

// readPolicy reads the rules of a pool: its own, then the site's rules that it does not replace.
func (b *builder) readPolicy(pool *node) []engine.Rule {
	policy, first := b.readRules(pool)
	for _, r := range b.sitePolicy {
		if _, replaced := first[r.String()]; !replaced {
			policy = append(policy, r)
		}
	}
	return policy
}

func (b *builder) readRules(parent *node) ([]engine.Rule, map[string]hcl.Range) {
	var list []engine.Rule
	first := map[string]hcl.Range{}
	for _, n := range parent.childBlocks("policy") {
		before := len(b.diags)
		r := b.readRule(n)
		if len(b.diags) > before || n.args["actions"] == nil {
			continue // further errors would only confuse
		}
		for _, problem := range ruleProblems(r) {
			b.addError(n.at, "policy "+r.String(), problem)
		}
		if at, twice := first[r.String()]; twice {
			b.addError(n.at, "a second policy for "+r.String(), fmt.Sprintf("the first is at %s:%d; remove one", at.Filename, at.Start.Line))
			continue
		}
		first[r.String()] = n.at
		list = append(list, r)
	}
	return list, first
}

// ruleProblems returns the problems of a rule. Package engine/rules finds them, because it also applies the rule.
func ruleProblems(r engine.Rule) []string {
	_, err := rules.NewPolicy([]engine.Rule{r})
	if err == nil {
		return nil
	}
	found := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // NewPolicy itself joins the errors
		found = joined.Unwrap()
	}
	var texts []string
	for _, e := range found {
		texts = append(texts, strings.TrimPrefix(e.Error(), "policy "+textutil.Printable(r.String())+": "))
	}
	return texts
}

func (b *builder) readRule(n *node) engine.Rule {
	r := b.newReader(n)
	rule := engine.Rule{Path: r.readText("path"), Glob: r.readText("glob"), Unit: r.readText("unit"), Timeout: r.readDuration("timeout")}
	if rule.Path != "/" {
		rule.Path = strings.TrimSuffix(rule.Path, "/")
	}
	var given []string
	for _, name := range []string{"path", "glob", "unit"} {
		if n.args[name] != nil {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 0:
		b.addError(n.at, "policy has no path, glob or unit", "add one of them")
	case len(given) > 1:
		b.addError(n.args[given[1]].NameRange, "policy has both "+strings.Join(given, " and "), "keep one; write another policy block for the other")
	}
	for _, text := range r.readOneOrMore("actions") {
		rule.Actions = append(rule.Actions, b.readAction(n, text))
	}
	return rule
}

// readAction reads an action such as "restart chronyd". An unknown action gets a warning and becomes a reboot, because
// a reboot makes every change take effect.
func (b *builder) readAction(n *node, text string) engine.Action {
	word, unit, _ := strings.Cut(strings.TrimSpace(text), " ")
	kinds := []string{
		string(engine.NoAction), string(engine.DrainAction), string(engine.ReloadDaemon),
		string(engine.ReloadUnit), string(engine.RestartUnit), string(engine.RebootAction),
	}
	if slices.Contains(kinds, word) {
		return engine.Action{Type: engine.ActionType(word), Unit: strings.TrimSpace(unit)}
	}
	at := n.args["actions"].Expr.Range()
	advice := "use none, drain, daemon-reload, reload UNIT, restart UNIT or reboot"
	if near := textutil.Nearest(word, kinds); near != "" {
		advice = fmt.Sprintf("did you mean %q?", strings.TrimSpace(near+" "+unit))
	}
	b.addWarning("%s:%d:%d: unknown action %q counts as a reboot; %s", at.Filename, at.Start.Line, at.Start.Column, text, advice)
	return engine.Action{Type: engine.ActionType(text)}
}
