package fit
import ("testing";"fmt";"math";"github.com/modelpatch/modelpatch/schemes")
func TestDbg(t *testing.T){
 for _,c:=range []struct{r schemes.Rotary;rows int;rec schemes.Recipe;p Precision}{
 {schemes.Rotary{Base:5271,Dim:48,Scaling:schemes.Scaling{Type:"proportional",Factor:1,Rotated:6}},16,"pow",Float16},
 {schemes.Rotary{Base:1.543492e6,Dim:32,Scaling:schemes.Scaling{Type:"proportional",Factor:1,Rotated:4}},64,"ggml",Float16},
 {schemes.Rotary{Base:10000,Dim:32},11,"pow",BFloat16},
 {schemes.Rotary{Base:10000,Dim:128},64,"pow",BFloat16},
 {schemes.Rotary{Base:10000,Dim:128},64,"pow",Float16},
 }{
  cos,sin:=cacheOf(c.r,c.rec,c.rows,0,ColumnsHalf,c.p)
  tt := &phases{rows: cos.Rows(), pairs: c.r.Pairs(), precision: c.p,cos:cos.At,sin:sin.At}
  fmt.Println(tt.isCircle(someRows(cos)),tt.amplitude)
  f,sg:=tt.frequencies()
  w:=c.r.InverseFrequencies()
  for k:=range f { if w[k]>0 {fmt.Printf("%d:%.2f ",k,math.Abs(f[k]/w[k]-1)/sg[k])}}
  fmt.Println()
  r,ok:=RotaryCache(cos,sin,c.p); fmt.Println(r.Rotary,ok,r.Frequencies.Why)
 }
}
