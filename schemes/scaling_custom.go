package schemes

// ScalingCustom is frequencies that no formula explains: Scaling.Frequencies.
const ScalingCustom = "custom"

var typeCustom = ScalingType{Name: ScalingCustom, Title: "Custom frequencies", Source: "a file's own numbers",
	Listed: true, OwnAmplitude: true, NoFurther: followsNoFormula, ggml: func(Rotary, *ggmlSteps) {}}
