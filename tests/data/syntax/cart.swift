import Foundation
protocol Priced { func price() -> Int }
public struct Cart: Priced {
    func price() -> Int {
        return sum(items)
    }
}
