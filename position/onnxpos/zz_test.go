package onnxpos

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
)

func TestZZ(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/corpus/onnx/*.onnx")
	if p := os.Getenv("ZZ"); p != "" {
		files, _ = filepath.Glob(p)
	}
	for _, p := range files {
		f, err := onnx.Open(p, onnx.Options{})
		if err != nil {
			fmt.Println(p, err)
			continue
		}
		m, err := New(f)
		if err != nil {
			fmt.Println(p, err)
			continue
		}
		l := axes.Pass(m.probe, m.input)
		kinds := map[string]int{}
		claimed := map[string]bool{}
		for _, st := range m.sites {
			for _, w := range st.Encoding().Where {
				claimed[w.Tensor] = true
				claimed[w.Node] = true
			}
		}
		delete(claimed, "")
		un := map[string]int{}
	next:
		for _, x := range l.Meetings {
			if claimed[nodeName(x.Node)] {
				continue
			}
			said := ""
			for _, src := range sources(x.Scope, x.Known) {
				if src.tensor != nil {
					if claimed[m.where(src.tensor).Tensor] {
						continue next
					}
					said += fmt.Sprint(" ", src.tensor.Name, src.tensor.Dims)
				}
				if src.trig != nil {
					if claimed[nodeName(src.trig)] {
						continue next
					}
					said += " " + nodeName(src.trig)
				}
			}
			un[x.Kind.String()+" "+x.Node.Op+" "+nodeName(x.Node)+" known "+fmt.Sprint(x.Scope.Value(x.Known).Known(), x.Scope.Value(x.Known).Shape)+said]++
		}
		for k := range un {
			fmt.Println("      UNCLAIMED", k)
		}
		for _, x := range l.Meetings {
			kinds["meet "+x.Kind.String()+" "+x.Node.Op]++
		}
		for _, x := range l.Doubts {
			kinds["DOUBT "+x.Node.Op+": "+x.Why]++
		}
		for _, x := range l.Order {
			kinds["order "+x.Node.Op+": "+x.Why]++
		}
		var ks []string
		for k, n := range kinds {
			ks = append(ks, fmt.Sprintf("%s ×%d", k, n))
		}
		sort.Strings(ks)
		fmt.Println(filepath.Base(p), "masked", l.Masked)
		for _, s := range m.sites {
			fmt.Printf("    site %s\n", s.Encoding().Scheme.Name())
		}
		for _, k := range ks {
			fmt.Println("       ", k)
		}
		f.Close()
	}
}
