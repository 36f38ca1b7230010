package playbook

import (
	"bytes"
	"encoding/json"
	"strings"
)

// dict is a JSON object. The encoder writes its keys in alphabetical order.
type dict = map[string]any

// Schema returns the JSON Schema (draft 2020-12) of playbooks, for editors. It
// checks keys and the shape of values. It does not check anything that depends
// on an inventory, on variables or on other values. Load refuses everything
// that the schema refuses.
func Schema() []byte {
	defs := dict{
		"play": playSchema(), "text": dict{"type": "string", "pattern": `\S`},
		"tag":      dict{"type": "string", "pattern": tagPattern, "not": dict{"enum": []string{tagAll, tagTagged, tagUntagged}}},
		"limit":    dict{"anyOf": []any{dict{"type": "integer", "minimum": 1, "maximum": maxHosts}, dict{"type": "string", "pattern": `^([1-9][0-9]?|100)%$`}}},
		"duration": dict{"type": "string", "pattern": durationPattern, "examples": []string{"90s", "10m", "1h30m", "4d"}},
		"nothing":  dict{"anyOf": []any{dict{"type": "null"}, dict{"type": "object", "maxProperties": 0}}},
	}
	for _, list := range []string{preTasks, mainTasks, postTasks} {
		defs[list] = taskSchema(list)
		for _, m := range allModules() {
			if m.isAllowedIn(list) && m.build != nil {
				defs[list+"_"+m.name] = moduleSchema(m, list)
			}
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(dict{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "holdfast playbook", "type": "array", "minItems": 1, "items": schemaRef("play"), "$defs": defs,
	})
	if err != nil {
		panic(err) // cannot happen: maps of texts and numbers can be encoded
	}
	return b.Bytes()
}

func schemaRef(name string) dict { return dict{"$ref": "#/$defs/" + name} }

func oneOrListOf(x any) dict {
	return dict{"anyOf": []any{x, dict{"type": "array", "minItems": 1, "items": x}}}
}

func playSchema() dict { return objectSchema(playFields()) }

func objectSchema(fields []field) dict {
	properties, required := dict{}, []string{}
	for _, f := range fields {
		p := fieldSchema(f)
		p["description"] = strings.ReplaceAll(f.meaning, "`", "")
		properties[f.name] = p
		if f.required {
			required = append(required, f.name)
		}
	}
	o := dict{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

func fieldSchema(f field) dict {
	switch f.kind {
	case boolKind:
		return dict{"type": "boolean"}
	case numberKind:
		return dict{"type": "integer", "minimum": f.least, "maximum": f.most}
	case choiceKind:
		return dict{"enum": f.choices}
	case durationKind:
		return schemaRef("duration")
	case hostsKind:
		return oneOrListOf(schemaRef("text"))
	case countsKind:
		return oneOrListOf(schemaRef("limit"))
	case tagsKind:
		return oneOrListOf(schemaRef("tag"))
	case conditionKind:
		return oneOrListOf(dict{"type": []string{"string", "boolean"}, "pattern": `\S`, "maxLength": maxCondition})
	case variablesKind:
		return dict{
			"type": "object", "propertyNames": dict{"pattern": namePattern},
			"additionalProperties": dict{"type": []string{"string", "number", "boolean", "null"}},
		}
	case tasksKind:
		return dict{"type": "array", "minItems": 1, "items": schemaRef(f.name)}
	}
	return schemaRef("text")
}

func taskSchema(list string) dict {
	o := objectSchema(taskFields())
	properties := o["properties"].(dict)
	var one, bare []any
	for _, m := range allModules() {
		if !m.isAllowedIn(list) {
			continue
		}
		p := schemaRef("nothing")
		if m.build != nil {
			p = schemaRef(list + "_" + m.name)
		} else {
			bare = append(bare, m.name)
		}
		p["description"] = strings.ReplaceAll(m.meaning, "`", "")
		properties[m.name] = p
		one = append(one, dict{"required": []string{m.name}})
	}
	o["oneOf"] = one
	o["dependentRequired"] = dict{"delegate_to": []string{"command"}}
	if bare == nil {
		return o
	}
	return dict{"anyOf": []any{dict{"enum": bare}, o}}
}

func moduleSchema(m module, list string) dict {
	o := objectSchema(m.argumentsIn(list))
	if m.oneOf != nil {
		var one []any
		for _, name := range m.oneOf {
			one = append(one, dict{"required": []string{name}})
		}
		o["oneOf"] = one
	}
	if m.mainArgument != "" {
		return dict{"anyOf": []any{schemaRef("text"), o}}
	}
	return o
}
