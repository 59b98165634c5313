"""Trains a classifier of made-up pictures with PyTorch, with DataLoader workers, and validates it after every epoch. The memory
that it holds grows, because the trainer keeps the results of each validation. This is a common mistake. The job has no code for memscope.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES = 1000


class Pictures(Dataset):
    def __init__(self, length):
        self.pictures = torch.randn(length, 3, 32, 32)
        self.labels = torch.randint(CLASSES, (length,))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.pictures[index], self.labels[index]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.Flatten())
        self.head = nn.Linear(8 * 7 * 7, CLASSES)

    def forward(self, pictures):
        return self.head(self.features(pictures))


class Trainer:
    def __init__(self):
        self.model = Classifier()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.loss = nn.CrossEntropyLoss()
        self.training = DataLoader(Pictures(1024), batch_size=64, shuffle=True, num_workers=2, persistent_workers=True)
        self.validation = DataLoader(Pictures(512), batch_size=64)
        self.outputs = []

    def train(self):
        self.model.train()
        for pictures, labels in self.training:
            self.optimizer.zero_grad()
            self.loss(self.model(pictures), labels).backward()
            self.optimizer.step()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        right = 0
        for pictures, labels in self.validation:
            logits = self.model(pictures)
            right += (logits.argmax(1) == labels).sum().item()
            self.outputs.append(logits)
        return right / len(self.validation.dataset)

    def fit(self):
        epoch = 0
        while True:
            self.train()
            print(f'epoch {epoch}: accuracy {self.validate():.3f}', flush=True)
            epoch += 1


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    trainer = Trainer()
    trainer.fit()


if __name__ == '__main__':
    main()
