using System.Linq;
namespace Shop {
    public class Cart {
        public async Task<int> AddAsync(Item item, int count) {
            return await store.Save(item, "cart");
        }
    }
}
