package expression

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Functions returns the functions that expressions at a place may call. Paths are relative to its file.
func (e *Evaluator) Functions(at hcl.Range) map[string]function.Function {
	f := map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "chomp": stdlib.ChompFunc, "coalesce": stdlib.CoalesceFunc,
		"compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "distinct": stdlib.DistinctFunc,
		"element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc, "floor": stdlib.FloorFunc, "format": stdlib.FormatFunc,
		"formatlist": stdlib.FormatListFunc, "indent": stdlib.IndentFunc, "join": stdlib.JoinFunc, "jsondecode": stdlib.JSONDecodeFunc,
		"jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc, "length": stdlib.LengthFunc, "lookup": stdlib.LookupFunc,
		"lower": stdlib.LowerFunc, "max": stdlib.MaxFunc, "merge": stdlib.MergeFunc, "min": stdlib.MinFunc,
		"parseint": stdlib.ParseIntFunc, "range": stdlib.RangeFunc, "regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc,
		"replace": stdlib.ReplaceFunc, "reverse": stdlib.ReverseListFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc,
		"split": stdlib.SplitFunc, "substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc,
		"trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc,
		"upper": stdlib.UpperFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
		"tostring": stdlib.MakeToFunc(cty.String), "tonumber": stdlib.MakeToFunc(cty.Number), "tobool": stdlib.MakeToFunc(cty.Bool),
		"sha256": stringFunction("text", func(s string) (string, error) {
			sum := sha256.Sum256([]byte(s))
			return hex.EncodeToString(sum[:]), nil
		}),
		"base64encode": stringFunction("text", func(s string) (string, error) { return base64.StdEncoding.EncodeToString([]byte(s)), nil }),
		"cidrhost":     cidrHostFunction(),
		"sensitive":    e.sensitiveFunction(),
		"env":          stringFunction("name", e.lookupEnv),
		"file":         stringFunction("path", func(name string) (string, error) { return e.readNamedFile(name, at) }),
		"fileexists":   e.fileExistsFunction(at),
	}
	for name, function := range f {
		f[name] = e.limitFunction(name, function)
	}
	// A template may call every function except templatefile, which could
	// recurse without end.
	f["templatefile"] = e.limitFunction("templatefile", e.templateFileFunction(at, maps.Clone(f)))
	return f
}

func stringFunction(parameter string, do func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: parameter, Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := do(args[0].AsString())
			if err != nil {
				return cty.UnknownVal(cty.String), function.NewArgError(0, err)
			}
			return cty.StringVal(s), nil
		},
	})
}

func (e *Evaluator) lookupEnv(name string) (string, error) {
	v, ok := e.Env(name)
	if !ok {
		return "", fmt.Errorf("environment variable %s is not set", name)
	}
	return v, nil
}

func (e *Evaluator) readNamedFile(name string, at hcl.Range) (string, error) {
	file := e.pathInFS(name, at)
	e.Read = append(e.Read, file)
	b, err := e.ReadFile(file, maxValueBytes)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", e.AbsolutePath(name, at), err)
	}
	return string(b), nil
}

func (e *Evaluator) pathInFS(name string, at hcl.Range) string {
	p := e.AbsolutePath(name, at)
	if e.Root != "" {
		p = strings.TrimPrefix(strings.TrimPrefix(p, e.Root), "/")
	}
	return path.Clean(p)
}

func (e *Evaluator) fileExistsFunction(at hcl.Range) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			info, err := fs.Stat(e.FS, e.pathInFS(args[0].AsString(), at))
			return cty.BoolVal(err == nil && !info.IsDir()), nil
		},
	})
}

func (e *Evaluator) templateFileFunction(at hcl.Range, functions map[string]function.Function) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType, AllowMarked: true}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			none := cty.UnknownVal(cty.String)
			src, err := e.readNamedFile(args[0].AsString(), at)
			if err != nil {
				return none, function.NewArgError(0, err)
			}
			if t := args[1].Type(); !t.IsObjectType() && !t.IsMapType() {
				return none, function.NewArgErrorf(1, "pass the variables of a template as an object: { name = value }")
			}
			tokens, _ := hclsyntax.LexTemplate([]byte(src), e.AbsolutePath(args[0].AsString(), at), hcl.InitialPos) // the parser reports the error
			if d := CheckNesting(tokens); d != nil {
				return none, function.NewArgError(0, templateError(d))
			}
			expr, diags := hclsyntax.ParseTemplate([]byte(src), e.AbsolutePath(args[0].AsString(), at), hcl.InitialPos)
			if diags.HasErrors() {
				return none, function.NewArgError(0, templateError(diags[0]))
			}
			e.CountCosts(expr)
			object, marks := args[1].Unmark()
			vars := map[string]cty.Value{}
			for name, v := range object.AsValueMap() {
				vars[name] = v.WithMarks(marks)
			}
			v, diags := expr.Value(&hcl.EvalContext{Variables: vars, Functions: functions})
			if diags.HasErrors() {
				HideDetail(diags[0])
				return none, function.NewArgError(0, templateError(diags[0]))
			}
			return stdlib.MakeToFunc(cty.String).Call([]cty.Value{v})
		},
	})
}

func templateError(d *hcl.Diagnostic) error {
	return fmt.Errorf("%s:%d:%d: %s", d.Subject.Filename, d.Subject.Start.Line, d.Subject.Start.Column, FormatDiagnostic(d))
}

func (e *Evaluator) sensitiveFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowMarked: true, AllowUnknown: true, AllowNull: true, AllowDynamicType: true}},
		Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			e.RecordSensitive(args[0])
			return MarkSensitive(args[0]), nil
		},
	})
}

// maxHostNumber is the largest number of an address within its prefix.
const maxHostNumber = 1 << 24

func cidrHostFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "prefix", Type: cty.String}, {Name: "number", Type: cty.Number}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			none := cty.UnknownVal(cty.String)
			prefix, err := netip.ParsePrefix(args[0].AsString())
			if err != nil {
				return none, function.NewArgError(0, err)
			}
			n, accuracy := args[1].AsBigFloat().Int64()
			if accuracy != 0 || n < 0 || n > maxHostNumber {
				return none, function.NewArgErrorf(1, "it must be a whole number from 0 to %d", maxHostNumber)
			}
			addr := prefix.Masked().Addr()
			b := addr.AsSlice()
			for i := len(b) - 1; i >= 0 && n > 0; i-- {
				n += int64(b[i])
				b[i] = byte(n)
				n >>= 8
			}
			host, _ := netip.AddrFromSlice(b)
			if n > 0 || !prefix.Contains(host) {
				return none, function.NewArgErrorf(1, "%s has no such address", prefix)
			}
			return cty.StringVal(host.String()), nil
		},
	})
}
