package expression

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// limitFunction bounds the result of each call of a function, and the results of all calls together. It refuses a call
// that can make a large result of small arguments before the call runs.
func (e *Evaluator) limitFunction(name string, f function.Function) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := checkCallSize(name, args); err != nil {
				return cty.DynamicPseudoType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, want cty.Type) (cty.Value, error) {
			if e.calls++; e.calls > maxCalls {
				return cty.UnknownVal(want), fmt.Errorf("the inventory calls functions more than %d times; use smaller lists", maxCalls)
			}
			v, err := f.Call(args)
			if err != nil {
				return v, err
			}
			bytes, items := sizeOf(v)
			e.resultBytes, e.resultItems = e.resultBytes+bytes, e.resultItems+items
			switch {
			case bytes > maxValueBytes:
				return cty.UnknownVal(want), fmt.Errorf("the result has more than %d MiB", maxValueBytes>>20)
			case items > maxItems:
				return cty.UnknownVal(want), fmt.Errorf("the result has more than %d values", maxItems)
			case e.resultItems > e.Bounds.Items:
				return cty.UnknownVal(want), fmt.Errorf("the results of all functions of the inventory have more than %d values; call them once, in locals", e.Bounds.Items)
			}
			if err := e.checkResultBytes(); err != nil {
				return cty.UnknownVal(want), err
			}
			return v, nil
		},
	})
}

// checkResultBytes returns an error if the texts and results so far have more bytes than an inventory may make.
func (e *Evaluator) checkResultBytes() error {
	if e.resultBytes <= e.Bounds.Bytes {
		return nil
	}
	return fmt.Errorf("all texts and results of functions of the inventory have more than %d MiB; make them once, in locals", e.Bounds.Bytes>>20)
}

func sizeOf(v cty.Value) (bytes, items int) {
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown() || v.IsNull():
	case v.Type() == cty.String:
		return len(v.AsString()), 1
	case v.CanIterateElements():
		for it := v.ElementIterator(); it.Next(); {
			key, element := it.Element()
			b, n := sizeOf(element)
			if key.Type() == cty.String {
				b += len(key.AsString())
			}
			bytes, items = bytes+b, items+n
		}
	}
	return bytes, items + 1
}

// widths matches the numbers in the verbs of a format.
var widths = regexp.MustCompile(`%[^a-zA-Z%]*`)

// maxWidth bounds the width of a value in format, and the depth of indent.
const maxWidth = 10_000

func checkCallSize(name string, args []cty.Value) error {
	texts := make([]string, len(args))
	for i, a := range args {
		if a, _ = a.Unmark(); a.IsKnown() && !a.IsNull() && a.Type() == cty.String {
			texts[i] = a.AsString()
		}
	}
	switch name {
	case "format", "formatlist":
		for _, verb := range widths.FindAllString(texts[0], -1) {
			for _, number := range strings.FieldsFunc(verb, func(r rune) bool { return r < '0' || r > '9' }) {
				if n, err := strconv.Atoi(number); err != nil || n > maxWidth {
					return function.NewArgErrorf(0, "a width, precision or index is more than %d", maxWidth)
				}
			}
		}
	case "indent":
		n, _ := args[0].Unmark()
		if n.IsKnown() && !n.IsNull() && n.Type() == cty.Number {
			if wide, _ := n.AsBigFloat().Int64(); wide > maxWidth || wide*int64(strings.Count(texts[1], "\n")) > maxValueBytes {
				return function.NewArgErrorf(0, "the result has more than %d MiB, or lines that begin after more than %d spaces", maxValueBytes>>20, maxWidth)
			}
		}
	case "replace":
		if (len(texts[0])+1)*(len(texts[2])+1) > 16*maxValueBytes {
			return function.NewArgErrorf(2, "the result may have more than %d MiB", maxValueBytes>>20)
		}
	case "join":
		items := 0
		for _, a := range args[1:] {
			if a, _ = a.Unmark(); a.IsKnown() && !a.IsNull() && a.CanIterateElements() {
				items += a.LengthInt()
			}
		}
		if items*len(texts[0]) > maxValueBytes {
			return function.NewArgErrorf(0, "the result has more than %d MiB", maxValueBytes>>20)
		}
	}
	return nil
}

// CheckLocalSize returns an error for a value that is too large for a local. The bound is low, because other locals can
// repeat the value many times.
func CheckLocalSize(v cty.Value) error {
	if bytes, items := sizeOf(v); bytes > maxValueBytes || items > 10*maxItems {
		return fmt.Errorf("a local may have %d MiB and %d values", maxValueBytes>>20, 10*maxItems)
	}
	return nil
}
