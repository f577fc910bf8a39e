package probe

import (
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/report"
)

// Where names a constant for reports.
func (p *Probe) Where(t *onnx.Tensor) report.Where {
	r := t.Range()
	w := report.Where{Tensor: p.TensorName(t), Range: &r, File: t.DataFile()}
	return w
}

// TensorName is the initializer's name, or that of the value that a Constant
// node gives.
func (p *Probe) TensorName(t *onnx.Tensor) string {
	if t.Name != "" {
		return t.Name
	}
	if p.names == nil {
		p.names = map[*onnx.Tensor]string{}
		p.File.Graphs(func(g *onnx.Graph) {
			p.Budget.Spend(len(g.Nodes))
			for _, n := range g.Nodes {
				if a := n.Attribute("value"); a != nil && a.Tensor != nil {
					p.names[a.Tensor] = n.Output(0)
				}
			}
		})
	}
	return p.names[t]
}
